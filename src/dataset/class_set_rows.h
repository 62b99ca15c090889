/*
 * The classes of large sets, rows of class_set.c: names and values in label files.
 *
 *   ADE20K       SceneParsing's 150 classes (objectInfo150.txt): the first name of each;
 *                0 is what is none of them
 *   COCO_STUFF   COCO-Stuff's 171 classes in stuffthingmaps (labels.txt): ids less one,
 *                of which 11 do not occur
 */
#ifndef DATASET_CLASS_SET_ROWS_H
#define DATASET_CLASS_SET_ROWS_H

/* clang-format off */
#define ADE20K \
    {"wall", 1, {0}}, {"building", 2, {0}}, {"sky", 3, {0}}, {"floor", 4, {0}}, \
    {"tree", 5, {0}}, {"ceiling", 6, {0}}, {"road", 7, {0}}, {"bed", 8, {0}}, \
    {"windowpane", 9, {0}}, {"grass", 10, {0}}, {"cabinet", 11, {0}}, \
    {"sidewalk", 12, {0}}, {"person", 13, {0}}, {"earth", 14, {0}}, {"door", 15, {0}}, \
    {"table", 16, {0}}, {"mountain", 17, {0}}, {"plant", 18, {0}}, {"curtain", 19, {0}}, \
    {"chair", 20, {0}}, {"car", 21, {0}}, {"water", 22, {0}}, {"painting", 23, {0}}, \
    {"sofa", 24, {0}}, {"shelf", 25, {0}}, {"house", 26, {0}}, {"sea", 27, {0}}, \
    {"mirror", 28, {0}}, {"rug", 29, {0}}, {"field", 30, {0}}, {"armchair", 31, {0}}, \
    {"seat", 32, {0}}, {"fence", 33, {0}}, {"desk", 34, {0}}, {"rock", 35, {0}}, \
    {"wardrobe", 36, {0}}, {"lamp", 37, {0}}, {"bathtub", 38, {0}}, \
    {"railing", 39, {0}}, {"cushion", 40, {0}}, {"base", 41, {0}}, {"box", 42, {0}}, \
    {"column", 43, {0}}, {"signboard", 44, {0}}, {"chest of drawers", 45, {0}}, \
    {"counter", 46, {0}}, {"sand", 47, {0}}, {"sink", 48, {0}}, {"skyscraper", 49, {0}}, \
    {"fireplace", 50, {0}}, {"refrigerator", 51, {0}}, {"grandstand", 52, {0}}, \
    {"path", 53, {0}}, {"stairs", 54, {0}}, {"runway", 55, {0}}, {"case", 56, {0}}, \
    {"pool table", 57, {0}}, {"pillow", 58, {0}}, {"screen door", 59, {0}}, \
    {"stairway", 60, {0}}, {"river", 61, {0}}, {"bridge", 62, {0}}, \
    {"bookcase", 63, {0}}, {"blind", 64, {0}}, {"coffee table", 65, {0}}, \
    {"toilet", 66, {0}}, {"flower", 67, {0}}, {"book", 68, {0}}, {"hill", 69, {0}}, \
    {"bench", 70, {0}}, {"countertop", 71, {0}}, {"stove", 72, {0}}, {"palm", 73, {0}}, \
    {"kitchen island", 74, {0}}, {"computer", 75, {0}}, {"swivel chair", 76, {0}}, \
    {"boat", 77, {0}}, {"bar", 78, {0}}, {"arcade machine", 79, {0}}, \
    {"hovel", 80, {0}}, {"bus", 81, {0}}, {"towel", 82, {0}}, {"light", 83, {0}}, \
    {"truck", 84, {0}}, {"tower", 85, {0}}, {"chandelier", 86, {0}}, \
    {"awning", 87, {0}}, {"streetlight", 88, {0}}, {"booth", 89, {0}}, \
    {"television receiver", 90, {0}}, {"airplane", 91, {0}}, {"dirt track", 92, {0}}, \
    {"apparel", 93, {0}}, {"pole", 94, {0}}, {"land", 95, {0}}, {"bannister", 96, {0}}, \
    {"escalator", 97, {0}}, {"ottoman", 98, {0}}, {"bottle", 99, {0}}, \
    {"buffet", 100, {0}}, {"poster", 101, {0}}, {"stage", 102, {0}}, {"van", 103, {0}}, \
    {"ship", 104, {0}}, {"fountain", 105, {0}}, {"conveyer belt", 106, {0}}, \
    {"canopy", 107, {0}}, {"washer", 108, {0}}, {"plaything", 109, {0}}, \
    {"swimming pool", 110, {0}}, {"stool", 111, {0}}, {"barrel", 112, {0}}, \
    {"basket", 113, {0}}, {"waterfall", 114, {0}}, {"tent", 115, {0}}, \
    {"bag", 116, {0}}, {"minibike", 117, {0}}, {"cradle", 118, {0}}, {"oven", 119, {0}}, \
    {"ball", 120, {0}}, {"food", 121, {0}}, {"step", 122, {0}}, {"tank", 123, {0}}, \
    {"trade name", 124, {0}}, {"microwave", 125, {0}}, {"pot", 126, {0}}, \
    {"animal", 127, {0}}, {"bicycle", 128, {0}}, {"lake", 129, {0}}, \
    {"dishwasher", 130, {0}}, {"screen", 131, {0}}, {"blanket", 132, {0}}, \
    {"sculpture", 133, {0}}, {"hood", 134, {0}}, {"sconce", 135, {0}}, \
    {"vase", 136, {0}}, {"traffic light", 137, {0}}, {"tray", 138, {0}}, \
    {"ashcan", 139, {0}}, {"fan", 140, {0}}, {"pier", 141, {0}}, \
    {"crt screen", 142, {0}}, {"plate", 143, {0}}, {"monitor", 144, {0}}, \
    {"bulletin board", 145, {0}}, {"shower", 146, {0}}, {"radiator", 147, {0}}, \
    {"glass", 148, {0}}, {"clock", 149, {0}}, {"flag", 150, {0}}

#define COCO_STUFF \
    {"person", 0, {0}}, {"bicycle", 1, {0}}, {"car", 2, {0}}, {"motorcycle", 3, {0}}, \
    {"airplane", 4, {0}}, {"bus", 5, {0}}, {"train", 6, {0}}, {"truck", 7, {0}}, \
    {"boat", 8, {0}}, {"traffic light", 9, {0}}, {"fire hydrant", 10, {0}}, \
    {"stop sign", 12, {0}}, {"parking meter", 13, {0}}, {"bench", 14, {0}}, \
    {"bird", 15, {0}}, {"cat", 16, {0}}, {"dog", 17, {0}}, {"horse", 18, {0}}, \
    {"sheep", 19, {0}}, {"cow", 20, {0}}, {"elephant", 21, {0}}, {"bear", 22, {0}}, \
    {"zebra", 23, {0}}, {"giraffe", 24, {0}}, {"backpack", 26, {0}}, \
    {"umbrella", 27, {0}}, {"handbag", 30, {0}}, {"tie", 31, {0}}, \
    {"suitcase", 32, {0}}, {"frisbee", 33, {0}}, {"skis", 34, {0}}, \
    {"snowboard", 35, {0}}, {"sports ball", 36, {0}}, {"kite", 37, {0}}, \
    {"baseball bat", 38, {0}}, {"baseball glove", 39, {0}}, {"skateboard", 40, {0}}, \
    {"surfboard", 41, {0}}, {"tennis racket", 42, {0}}, {"bottle", 43, {0}}, \
    {"wine glass", 45, {0}}, {"cup", 46, {0}}, {"fork", 47, {0}}, {"knife", 48, {0}}, \
    {"spoon", 49, {0}}, {"bowl", 50, {0}}, {"banana", 51, {0}}, {"apple", 52, {0}}, \
    {"sandwich", 53, {0}}, {"orange", 54, {0}}, {"broccoli", 55, {0}}, \
    {"carrot", 56, {0}}, {"hot dog", 57, {0}}, {"pizza", 58, {0}}, {"donut", 59, {0}}, \
    {"cake", 60, {0}}, {"chair", 61, {0}}, {"couch", 62, {0}}, \
    {"potted plant", 63, {0}}, {"bed", 64, {0}}, {"dining table", 66, {0}}, \
    {"toilet", 69, {0}}, {"tv", 71, {0}}, {"laptop", 72, {0}}, {"mouse", 73, {0}}, \
    {"remote", 74, {0}}, {"keyboard", 75, {0}}, {"cell phone", 76, {0}}, \
    {"microwave", 77, {0}}, {"oven", 78, {0}}, {"toaster", 79, {0}}, {"sink", 80, {0}}, \
    {"refrigerator", 81, {0}}, {"book", 83, {0}}, {"clock", 84, {0}}, {"vase", 85, {0}}, \
    {"scissors", 86, {0}}, {"teddy bear", 87, {0}}, {"hair drier", 88, {0}}, \
    {"toothbrush", 89, {0}}, {"banner", 91, {0}}, {"blanket", 92, {0}}, \
    {"branch", 93, {0}}, {"bridge", 94, {0}}, {"building-other", 95, {0}}, \
    {"bush", 96, {0}}, {"cabinet", 97, {0}}, {"cage", 98, {0}}, {"cardboard", 99, {0}}, \
    {"carpet", 100, {0}}, {"ceiling-other", 101, {0}}, {"ceiling-tile", 102, {0}}, \
    {"cloth", 103, {0}}, {"clothes", 104, {0}}, {"clouds", 105, {0}}, \
    {"counter", 106, {0}}, {"cupboard", 107, {0}}, {"curtain", 108, {0}}, \
    {"desk-stuff", 109, {0}}, {"dirt", 110, {0}}, {"door-stuff", 111, {0}}, \
    {"fence", 112, {0}}, {"floor-marble", 113, {0}}, {"floor-other", 114, {0}}, \
    {"floor-stone", 115, {0}}, {"floor-tile", 116, {0}}, {"floor-wood", 117, {0}}, \
    {"flower", 118, {0}}, {"fog", 119, {0}}, {"food-other", 120, {0}}, \
    {"fruit", 121, {0}}, {"furniture-other", 122, {0}}, {"grass", 123, {0}}, \
    {"gravel", 124, {0}}, {"ground-other", 125, {0}}, {"hill", 126, {0}}, \
    {"house", 127, {0}}, {"leaves", 128, {0}}, {"light", 129, {0}}, {"mat", 130, {0}}, \
    {"metal", 131, {0}}, {"mirror-stuff", 132, {0}}, {"moss", 133, {0}}, \
    {"mountain", 134, {0}}, {"mud", 135, {0}}, {"napkin", 136, {0}}, {"net", 137, {0}}, \
    {"paper", 138, {0}}, {"pavement", 139, {0}}, {"pillow", 140, {0}}, \
    {"plant-other", 141, {0}}, {"plastic", 142, {0}}, {"platform", 143, {0}}, \
    {"playingfield", 144, {0}}, {"railing", 145, {0}}, {"railroad", 146, {0}}, \
    {"river", 147, {0}}, {"road", 148, {0}}, {"rock", 149, {0}}, {"roof", 150, {0}}, \
    {"rug", 151, {0}}, {"salad", 152, {0}}, {"sand", 153, {0}}, {"sea", 154, {0}}, \
    {"shelf", 155, {0}}, {"sky-other", 156, {0}}, {"skyscraper", 157, {0}}, \
    {"snow", 158, {0}}, {"solid-other", 159, {0}}, {"stairs", 160, {0}}, \
    {"stone", 161, {0}}, {"straw", 162, {0}}, {"structural-other", 163, {0}}, \
    {"table", 164, {0}}, {"tent", 165, {0}}, {"textile-other", 166, {0}}, \
    {"towel", 167, {0}}, {"tree", 168, {0}}, {"vegetable", 169, {0}}, \
    {"wall-brick", 170, {0}}, {"wall-concrete", 171, {0}}, {"wall-other", 172, {0}}, \
    {"wall-panel", 173, {0}}, {"wall-stone", 174, {0}}, {"wall-tile", 175, {0}}, \
    {"wall-wood", 176, {0}}, {"water-other", 177, {0}}, {"waterdrops", 178, {0}}, \
    {"window-blind", 179, {0}}, {"window-other", 180, {0}}, {"wood", 181, {0}}
/* clang-format on */

#endif
