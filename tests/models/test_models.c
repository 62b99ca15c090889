/*
 * Every model of the table against the exact counts of timm's and the CIFAR nets; names
 * and order of state-dict entries; name resolution; effects of options.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "models/count.h"
#include "models/resnet.h"
#include "ops/activation.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/table.h"
#include "tests/models/net.h"
#include "tests/test.h"

struct row {
    const char *name;
    int classes, side;
    int64_t params;
    int tensors, entries;
    int64_t decayed, macs, acts;
};

/* clang-format off */
static const struct row rows[] = {
    {"resnet18", 1000, 224, 11689512, 62, 122, 11678912, 1814073344, 2484712},
    {"resnet34", 1000, 224, 21797672, 110, 218, 21779648, 3663761408, 3739112},
    {"resnet50", 1000, 224, 25557032, 161, 320, 25502912, 4089184256, 11114984},
    {"resnet101", 1000, 224, 44549160, 314, 626, 44442816, 7801405440, 16232936},
    {"resnet152", 1000, 224, 60192808, 467, 932, 60040384, 11513626624, 22555112},
    {"resnet18d", 1000, 224, 11708744, 68, 134, 11698016, 2053713920, 3287528},
    {"resnet34d", 1000, 224, 21816904, 116, 230, 21798752, 3903401984, 4541928},
    {"resnet50d", 1000, 224, 25576264, 167, 332, 25522016, 4328824832, 11917800},
    {"resnet101d", 1000, 224, 44568392, 320, 638, 44461920, 8041046016, 17035752},
    {"resnet152d", 1000, 224, 60212040, 473, 944, 60059488, 11753267200, 23357928},
    {"resnext50_32x4d", 1000, 224, 25028904, 161, 320, 24959680, 4230479872, 14401512},
    {"resnext101_32x8d", 1000, 224, 88791336, 314, 626, 88587456, 16414015488, 31210472},
    {"wide_resnet50_2", 1000, 224, 68883240, 161, 320, 68814016, 11398021120, 14401512},
    {"wide_resnet101_2", 1000, 224, 126886696, 314, 626, 126747840, 22753050624, 21225448},
    {"seresnet50", 1000, 224, 28088024, 225, 384, 28017856, 4091699200, 11131032},
    {"test_resnet", 1000, 160, 469688, 47, 92, 466608, 102547200, 640200},
    {"resnet10t", 1000, 224, 5435488, 44, 86, 5428616, 1097259008, 2434536},
    {"resnet14t", 1000, 224, 10081632, 59, 116, 10061192, 1676822528, 5796328},
    {"resnet26", 1000, 224, 15995176, 89, 176, 15963328, 2342256640, 7351784},
    {"resnet26d", 1000, 224, 16014408, 95, 188, 15982432, 2581897216, 8154600},
    {"resnet26t", 1000, 256, 16011872, 95, 188, 15979912, 3330359296, 10519528},
    {"resnet50c", 1000, 224, 25576264, 167, 332, 25522016, 4328824832, 11917800},
    {"resnet50s", 1000, 224, 25680808, 167, 332, 25626304, 5444337664, 13523432},
    {"resnet50t", 1000, 224, 25573728, 167, 332, 25519496, 4297213952, 11817448},
    {"resnext50d_32x4d", 1000, 224, 25048136, 167, 332, 24978784, 4470120448, 15204328},
    {"resnext101_32x4d", 1000, 224, 44177704, 314, 626, 44038848, 7969996800, 21225448},
    {"resnext101_64x4d", 1000, 224, 83455272, 314, 626, 83251392, 15460270080, 31210472},
    {"seresnet18", 1000, 224, 11779624, 94, 154, 11766976, 1814161408, 2486760},
    {"seresnet34", 1000, 224, 21960416, 174, 282, 21938368, 3663920128, 3743136},
    {"seresnet101", 1000, 224, 49326872, 446, 758, 49185984, 7806148608, 16267480},
    {"seresnet152", 1000, 224, 66821848, 667, 1132, 66618560, 11520204800, 22605976},
    {"seresnext26d_32x4d", 1000, 224, 16809512, 127, 220, 16761696, 2711740416, 10194888},
    {"seresnext50_32x4d", 1000, 224, 27559896, 225, 384, 27474624, 4232994816, 14417560},
    {"resnet20", 10, 32, 269722, 59, 116, 268336, 40551040, 188426},
    {"resnet32", 10, 32, 464154, 95, 188, 461872, 68862592, 303114},
    {"resnet44", 10, 32, 658586, 131, 260, 655408, 97174144, 417802},
    {"resnet56", 10, 32, 853018, 167, 332, 848944, 125485696, 532490},
    {"resnet110", 10, 32, 1727962, 329, 656, 1719856, 252887680, 1048586},
    {"swin_tiny_patch4_window7_224", 1000, 224, 28288354, 173, 173, 28199424, 4490566656, 17055352},
    {"swin_small_patch4_window7_224", 1000, 224, 49606258, 329, 329, 49433088, 8740875264, 27470008},
    {"swin_base_patch4_window7_224", 1000, 224, 87768224, 329, 329, 87537664, 15430946816, 36626344},
    {"swin_base_patch4_window12_384", 1000, 384, 87903584, 329, 329, 87537664, 47083134976, 134775784},
    {"swin_large_patch4_window7_224", 1000, 224, 196532476, 329, 329, 196187136, 34475759616, 54939016},
    {"swin_large_patch4_window12_384", 1000, 384, 196735516, 329, 329, 196187136, 103919087616, 202163176},
    {"swinv2_tiny_window8_256", 1000, 256, 28347154, 221, 221, 28199424, 5939690496, 24565042},
    {"swinv2_tiny_window16_256", 1000, 256, 28347154, 221, 221, 28199424, 6660619264, 39016434},
    {"swinv2_small_window8_256", 1000, 256, 49728418, 425, 425, 49433088, 11545857024, 40135618},
    {"swinv2_small_window16_256", 1000, 256, 49728418, 425, 425, 49433088, 12783078400, 66292866},
    {"swinv2_base_window8_256", 1000, 256, 87918816, 425, 425, 87537664, 20325134336, 52592224},
    {"swinv2_base_window16_256", 1000, 256, 87918816, 425, 425, 87537664, 21969235968, 84705120},
    {"swinv2_base_window12_192", 21841, 192, 109280841, 425, 425, 108878848, 11877602304, 39722057},
    {"swinv2_base_window12to16_192to256", 1000, 256, 87918816, 425, 425, 87537664, 21969235968, 84705120},
    {"swinv2_base_window12to24_192to384", 1000, 384, 87918816, 425, 425, 87537664, 55148310528, 280362080},
    {"swinv2_large_window12_192", 21841, 192, 228772549, 425, 425, 228198912, 26133917184, 56530885},
    {"swinv2_large_window12to16_192to256", 1000, 256, 196739932, 425, 425, 196187136, 47740303360, 121529628},
    {"swinv2_large_window12to24_192to384", 1000, 384, 196739932, 425, 425, 196187136, 115991427072, 407830684},
    {"swin_mlp_tiny_c24_patch4_window8_256", 1000, 256, 20386632, 137, 137, 20326912, 4026906624, 12528616},
    {"swin_mlp_tiny_c12_patch4_window8_256", 1000, 256, 21152072, 137, 137, 21080576, 4026906624, 12528616},
    {"swin_mlp_tiny_c6_patch4_window8_256", 1000, 256, 22682952, 137, 137, 22587904, 4026906624, 12528616},
    {"swin_mlp_base_patch4_window7_224", 1000, 224, 60659416, 257, 257, 60522104, 10412086144, 20767592},
    {"vit_tiny_patch16_224", 1000, 224, 5717416, 152, 152, 5647872, 1253683200, 5974636},
    {"vit_small_patch16_224", 1000, 224, 22050664, 152, 152, 21912576, 4598882304, 11948272},
    {"vit_base_patch16_224", 1000, 224, 86567656, 152, 152, 86292480, 17563828224, 23895544},
    {"deit_tiny_patch16_224", 1000, 224, 5717416, 152, 152, 5647872, 1253683200, 5974636},
    {"deit_small_patch16_224", 1000, 224, 22050664, 152, 152, 21912576, 4598882304, 11948272},
    {"deit_base_patch16_224", 1000, 224, 86567656, 152, 152, 86292480, 17563828224, 23895544},
    {"deit_tiny_distilled_patch16_224", 1000, 224, 5910800, 155, 155, 5839872, 1261003776, 6012896},
    {"deit_small_distilled_patch16_224", 1000, 224, 22436432, 155, 155, 22296576, 4624140288, 12023792},
    {"deit_base_distilled_patch16_224", 1000, 224, 87338192, 155, 155, 87060480, 17656811520, 24045584},
    {"convnext_tiny", 1000, 224, 28589128, 182, 182, 28524000, 4455531264, 13435624},
    {"convnext_small", 1000, 224, 50223688, 344, 344, 50096352, 8683712256, 21564136},
    {"convnext_base", 1000, 224, 88591464, 344, 344, 88422016, 15354729472, 28751848},
    {"unet", 21, 224, 24439269, 140, 278, 24420240, 6127091712, 7902720},
    {"unetplusplus", 21, 224, 26081509, 176, 350, 26060688, 14219476992, 13723136},
    {"deeplabv3", 21, 224, 26012245, 131, 260, 25991616, 20905660416, 9550160},
    {"deeplabv3plus", 21, 224, 22442597, 142, 277, 22421360, 6052259840, 6890048},
    {"fpn", 21, 224, 23157973, 139, 247, 23138112, 5256437760, 5629120},
    {"pspnet", 21, 224, 21530165, 124, 244, 21511872, 1863942144, 3329680},
    {"deeplabv3_resnet50", 21, 224, 42004074, 187, 370, 41946816, 31310548992, 26409296},
    {"deeplabv3_resnet101", 21, 224, 60996202, 340, 676, 60886720, 46159433728, 46881104},
    {"fcn_resnet50", 21, 224, 35322218, 169, 334, 35267520, 26484498432, 25606224},
    {"fcn_resnet101", 21, 224, 54314346, 322, 640, 54207424, 41333383168, 46078032},
    {"upernet", 21, 224, 29604821, 154, 298, 29579712, 13776453632, 6739520},
    {"segformer_b0", 21, 224, 3719541, 189, 192, 3696480, 1340928512, 7516600},
    {"segformer_b1", 21, 224, 13682645, 189, 192, 13638080, 2613617664, 12502840},
    {"segformer_b2", 21, 224, 27362773, 345, 348, 27274432, 11018749952, 25173456},
    {"segformer_b3", 21, 224, 47238613, 585, 588, 47073472, 13889318912, 35345856},
    {"segformer_b4", 21, 224, 64009173, 845, 848, 63776192, 16667639296, 48174644},
    {"segformer_b5", 21, 224, 84609493, 1065, 1068, 84298432, 19464725504, 56595000},
    {"mit_b0", 1000, 224, 3576392, 178, 178, 3553888, 452467200, 5582688},
    {"mit_b1", 1000, 224, 13664424, 178, 178, 13620416, 1675637760, 10568928},
    {"mit_b2", 1000, 224, 24709288, 334, 334, 24624576, 3271284736, 19501432},
    {"mit_b3", 1000, 224, 44585128, 574, 574, 44423616, 6141853696, 29673832},
    {"mit_b4", 1000, 224, 61355688, 834, 834, 61126336, 8920174080, 42502620},
    {"mit_b5", 1000, 224, 81956008, 1054, 1054, 81648576, 11717260288, 50922976},
    {"erfnet", 20, 1024, 2066836, 228, 345, 2053983, 26612727808, 127533056},
    {"regnetx_002", 1000, 224, 2684792, 134, 266, 2662944, 199039872, 2164056},
    {"regnetx_004", 1000, 224, 5157512, 215, 428, 5119840, 397677568, 3143272},
    {"regnetx_006", 1000, 224, 6196040, 161, 320, 6161760, 600890112, 3975096},
    {"regnetx_008", 1000, 224, 7259656, 161, 320, 7221344, 799699712, 5148744},
    {"regnetx_016", 1000, 224, 9190136, 179, 356, 9145632, 1602849792, 7933512},
    {"regnetx_032", 1000, 224, 15296552, 242, 482, 15232992, 3176621952, 11367432},
    {"regnetx_040", 1000, 224, 22118248, 224, 446, 22041184, 3964498816, 12201608},
    {"regnetx_064", 1000, 224, 26209256, 170, 338, 26134048, 6460291264, 16369744},
    {"regnetx_080", 1000, 224, 39572648, 224, 446, 39481184, 7995132416, 14059688},
    {"regnetx_120", 1000, 224, 46106056, 188, 374, 46008672, 12086678016, 21366568},
    {"regnetx_160", 1000, 224, 54278536, 215, 428, 54166368, 15940755456, 25515496},
    {"regnetx_320", 1000, 224, 107811560, 224, 446, 107648544, 31735929792, 36302160},
    {"regnety_002", 1000, 224, 3162996, 186, 318, 3137152, 199514080, 2168052},
    {"regnety_004", 1000, 224, 4344144, 225, 384, 4310784, 401842848, 3892496},
    {"regnety_006", 1000, 224, 6055160, 212, 362, 6018784, 601220992, 4334296},
    {"regnety_008", 1000, 224, 6263168, 199, 340, 6226784, 797176832, 5249888},
    {"regnety_016", 1000, 224, 11202430, 368, 626, 11138592, 1612076160, 8044814},
    {"regnety_032", 1000, 224, 19436338, 290, 494, 19356768, 3176482752, 11263418},
    {"regnety_040", 1000, 224, 20646656, 303, 516, 20571488, 3973288448, 12287200},
    {"regnety_064", 1000, 224, 30583252, 342, 582, 30483936, 6355204992, 16407188},
    {"regnety_080", 1000, 224, 39180068, 238, 406, 39077440, 7963057312, 17968916},
    {"regnety_120", 1000, 224, 51822544, 264, 450, 51707232, 12092376576, 21384496},
    {"regnety_160", 1000, 224, 83590140, 251, 428, 83443552, 15911510272, 23041228},
    {"regnety_320", 1000, 224, 145046770, 277, 472, 144857952, 32279552832, 30261570},
    {"regnety_640", 1000, 224, 281378786, 277, 472, 281115232, 64069959616, 42504250},
    {"regnety_1280", 1000, 224, 644812894, 368, 626, 644317152, 127517815680, 71578334},
    {"regnety_2560", 1000, 224, 1282601138, 368, 626, 1281901154, 254384814734, 100965364},
    {"efficientnet_b0", 1000, 224, 5288548, 213, 360, 5236192, 385814752, 6748036},
    {"efficientnet_b1", 1000, 224, 7794184, 301, 508, 7716976, 569651680, 9355736},
    {"efficientnet_b2", 1000, 224, 9109994, 301, 508, 9026016, 658963440, 9808570},
    {"efficientnet_b3", 1000, 224, 12233232, 340, 574, 12124856, 962708240, 13007256},
    {"efficientnet_b4", 1000, 224, 19341616, 418, 706, 19186376, 1503710432, 17045976},
    {"efficientnet_b5", 1000, 224, 30389784, 506, 854, 30175728, 2356493184, 23420984},
    {"efficientnet_b6", 1000, 224, 43040704, 584, 986, 42762672, 3360166848, 29965944},
    {"efficientnet_b7", 1000, 224, 66347960, 711, 1200, 65963040, 5169865152, 40092696},
    {"efficientnet_b8", 1000, 224, 87413142, 789, 1332, 86942400, 6971883840, 49290238},
    {"efficientnet_l2", 1000, 224, 480309308, 1134, 1914, 478958600, 37384444832, 134099012},
    {"tf_efficientnet_b0", 1000, 224, 5288548, 213, 360, 5236192, 385814752, 6748036},
    {"tf_efficientnet_b1", 1000, 224, 7794184, 301, 508, 7716976, 569651680, 9355736},
    {"tf_efficientnet_b2", 1000, 224, 9109994, 301, 508, 9026016, 658963440, 9808570},
    {"tf_efficientnet_b3", 1000, 224, 12233232, 340, 574, 12124856, 962708240, 13007256},
    {"tf_efficientnet_b4", 1000, 224, 19341616, 418, 706, 19186376, 1503710432, 17045976},
    {"tf_efficientnet_b5", 1000, 224, 30389784, 506, 854, 30175728, 2356493184, 23420984},
    {"tf_efficientnet_b6", 1000, 224, 43040704, 584, 986, 42762672, 3360166848, 29965944},
    {"tf_efficientnet_b7", 1000, 224, 66347960, 711, 1200, 65963040, 5169865152, 40092696},
    {"tf_efficientnet_b8", 1000, 224, 87413142, 789, 1332, 86942400, 6971883840, 49290238},
    {"tf_efficientnet_l2", 1000, 224, 480309308, 1134, 1914, 478958600, 37384444832, 134099012},
    {"efficientnet_lite0", 1000, 224, 4652008, 149, 296, 4608992, 385187552, 6738696},
    {"efficientnet_lite1", 1000, 224, 5416680, 194, 386, 5362016, 502467680, 8736328},
    {"efficientnet_lite2", 1000, 224, 6092072, 194, 386, 6032976, 576509424, 9161256},
    {"efficientnet_lite3", 1000, 224, 8197096, 221, 440, 8119424, 852099536, 11927208},
    {"efficientnet_lite4", 1000, 224, 13006568, 275, 548, 12893200, 1347665152, 15702952},
    {"tf_efficientnet_lite0", 1000, 224, 4652008, 149, 296, 4608992, 385187552, 6738696},
    {"tf_efficientnet_lite1", 1000, 224, 5416680, 194, 386, 5362016, 502467680, 8736328},
    {"tf_efficientnet_lite2", 1000, 224, 6092072, 194, 386, 6032976, 576509424, 9161256},
    {"tf_efficientnet_lite3", 1000, 224, 8197096, 221, 440, 8119424, 852099536, 11927208},
    {"tf_efficientnet_lite4", 1000, 224, 13006568, 275, 548, 12893200, 1347665152, 15702952},
    {"efficientnetv2_s", 1000, 224, 21458488, 452, 782, 21268424, 2849895872, 12194464},
    {"efficientnetv2_m", 1000, 224, 54139356, 649, 1120, 53778504, 5362207200, 19618644},
    {"efficientnetv2_l", 1000, 224, 118515272, 897, 1548, 117882144, 12231188544, 34500520},
    {"efficientnetv2_xl", 1000, 224, 208119808, 1156, 1990, 207159136, 17901587200, 47487072},
    {"tf_efficientnetv2_s", 1000, 224, 21458488, 452, 782, 21268424, 2849895872, 12194464},
    {"tf_efficientnetv2_m", 1000, 224, 54139356, 649, 1120, 53778504, 5362207200, 19618644},
    {"tf_efficientnetv2_l", 1000, 224, 118515272, 897, 1548, 117882144, 12231188544, 34500520},
    {"tf_efficientnetv2_xl", 1000, 224, 208119808, 1156, 1990, 207159136, 17901587200, 47487072},
    {"tf_efficientnetv2_b0", 1000, 224, 7139704, 243, 420, 7064576, 718086176, 4773400},
    {"tf_efficientnetv2_b1", 1000, 224, 8141052, 297, 516, 8053152, 1015859232, 6243356},
    {"tf_efficientnetv2_b2", 1000, 224, 10096086, 310, 538, 9994384, 1168830832, 6745350},
    {"tf_efficientnetv2_b3", 1000, 224, 14358406, 362, 626, 14223448, 1609978624, 8431006},
    {"efficientnetv2_rw_t", 1000, 224, 13649388, 439, 760, 13502200, 1912879840, 9942628},
    {"efficientnetv2_rw_s", 1000, 224, 23941296, 458, 794, 23742856, 2943930112, 12966536},
    {"efficientnetv2_rw_m", 1000, 224, 53236442, 697, 1204, 52857248, 6193370768, 23137634},
    {"test_efficientnet", 1000, 160, 356196, 49, 88, 352328, 57304256, 550140},
    {"mobilenetv2_035", 1000, 224, 1677128, 158, 314, 1662048, 59285808, 2863776},
    {"mobilenetv2_050", 1000, 224, 1968680, 158, 314, 1949136, 97131840, 3641112},
    {"mobilenetv2_075", 1000, 224, 2636424, 158, 314, 2608784, 209069792, 5856304},
    {"mobilenetv2_100", 1000, 224, 3504872, 158, 314, 3469760, 300774272, 6679112},
    {"mobilenetv2_140", 1000, 224, 6108776, 158, 314, 6059840, 582195824, 9574424},
    {"mobilenetv2_110d", 1000, 224, 4516520, 203, 404, 4468032, 430516080, 8712024},
    {"mobilenetv2_120d", 1000, 224, 5831144, 239, 476, 5766368, 668857568, 11966408},
    {"mobilenetv3_large_075", 1000, 224, 3993528, 174, 312, 3968208, 154560624, 4001888},
    {"mobilenetv3_large_100", 1000, 224, 5483032, 174, 312, 5451272, 216589760, 4407168},
    {"mobilenetv3_large_150d", 1000, 224, 14622320, 240, 432, 14555600, 775198160, 9461232},
    {"mobilenetv3_small_050", 1000, 224, 1593224, 142, 244, 1583136, 24188688, 917736},
    {"mobilenetv3_small_075", 1000, 224, 2041872, 142, 244, 2027880, 43399344, 1302224},
    {"mobilenetv3_small_100", 1000, 224, 2542856, 142, 244, 2525832, 56510400, 1417680},
    {"mobilenetv3_rw", 1000, 224, 5479918, 173, 311, 5449448, 216587936, 4407158},
    {"tf_mobilenetv3_large_075", 1000, 224, 3993528, 174, 312, 3968208, 154560624, 4001888},
    {"tf_mobilenetv3_large_100", 1000, 224, 5483032, 174, 312, 5451272, 216589760, 4407168},
    {"tf_mobilenetv3_large_minimal_100", 1000, 224, 3924288, 142, 280, 3897608, 209136704, 4402088},
    {"tf_mobilenetv3_small_075", 1000, 224, 2041872, 142, 244, 2027880, 43399344, 1302224},
    {"tf_mobilenetv3_small_100", 1000, 224, 2542856, 142, 244, 2525832, 56510400, 1417680},
    {"tf_mobilenetv3_small_minimal_100", 1000, 224, 2044736, 106, 208, 2030600, 52288448, 1414792},
    {"mobilenetv4_conv_small_035", 1000, 224, 1905384, 140, 278, 1893696, 47723040, 982280},
    {"mobilenetv4_conv_small_050", 1000, 224, 2238952, 140, 278, 2224096, 64741408, 1184552},
    {"mobilenetv4_conv_small", 1000, 224, 3774024, 140, 278, 3747936, 186005568, 1965416},
    {"mobilenetv4_conv_medium", 1000, 224, 9715512, 233, 464, 9646608, 827649984, 5803880},
    {"mobilenetv4_conv_large", 1000, 224, 32590864, 308, 614, 32440312, 2171341312, 9294248},
    {"erfnet_encoder", 20, 1024, 1876624, 170, 257, 1865311, 21533425664, 79462400},
};
/* clang-format on */
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static void check_row(const struct row *r)
{
    struct model_options o = {.classes = r->classes};
    struct model_count c = model_count_image(
        model_named(r->name), &o, 3,
        model_named(r->name)->height ? model_named(r->name)->height : r->side, r->side);

    print_message("%s\n", r->name);
    assert_int_equal(c.params, r->params);
    assert_int_equal(c.tensors, r->tensors);
    assert_int_equal(c.entries, r->entries);
    assert_int_equal(c.decayed, r->decayed);
    assert_int_equal(c.macs, r->macs);
    assert_int_equal(c.acts, r->acts);
}

static void test_counts(void **state)
{
    int models = 0;

    (void)state;
    for (int i = 0; i < NROWS; i++)
        check_row(&rows[i]);
    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++) {
            assert_ptr_equal(m->family, model_families[i]);
            models++;
        }
    assert_int_equal(models, NROWS); /* a new model needs a row here */
}

static void check_options(const char *name, struct model_options o, int channels,
                          int side, int64_t params, int64_t macs)
{
    struct model_count c = model_count_image(model_named(name), &o, channels, side, side);

    assert_int_equal(c.params, params);
    if (macs)
        assert_int_equal(c.macs, macs);
}

static void test_options(void **state)
{
    static const struct resnet_options stem = {.stem = RESNET_STEM_3X3},
                                       conv = {.shortcut = RESNET_SHORTCUT_CONV},
                                       none = {.shortcut = RESNET_SHORTCUT_PAD};
    struct model_options c10 = {.classes = 10}, small = c10, option_b = c10, pad = c10;

    (void)state;
    check_options("resnet18", c10, 3, 224, 11181642, 1814073344 - INT64_C(990) * 512);
    check_options("erfnet", (struct model_options){.classes = 19}, 3, 64, 2066642, 0);
    check_options("erfnet_encoder", (struct model_options){.classes = 19}, 3, 64, 1876495,
                  0);
    check_options("resnet50", c10, 3, 224, 23528522, 4089184256 - INT64_C(990) * 2048);
    check_options("resnet20", (struct model_options){.classes = 100}, 3, 32, 275572, 0);
    check_options("resnet18", c10, 1, 224, 11181642 - 2 * 64 * 49, 0);
    check_options("resnet50", (struct model_options){.classes = 1000}, 3, 288, 25557032,
                  6758334464);
    small.family = &stem;
    check_options("resnet18", small, 3, 32, 11173962, 555422720);
    option_b.family = &conv;
    check_options("resnet20", option_b, 3, 32, 272474, 0);
    check_options("resnet110", option_b, 3, 32, 1730714, 0);
    small = c10, small.skip_strides = 2;
    check_options("mobilenetv2_100", small, 3, 32, 2236682, 87976448);
    check_options("regnetx_002", small, 3, 32, 2319482, 59862624);
    small.skip_strides = 1;
    check_options("efficientnet_b0", small, 3, 32, 4020358, 31979392);
    /* Without downsampling convolutions: 3 in a basic net, 4 in a bottleneck net. */
    pad.family = &none;
    check_options("resnet18", pad, 3, 224, 11181642 - 172032 - 2 * (128 + 256 + 512), 0);
}

/* Returns parameters and buffers in order of creation: a state dict's. */
static char *state_dict(const char *name)
{
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    const struct model *m = model_named(name);
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){2, 3, m->size, m->size});
    struct strbuf s = STRBUF_INIT;

    model_build(&b, m, &(struct model_options){.classes = 1000}, x);
    for (int i = 0; i < b.g->ntensor; i++) {
        const struct tensor *t = b.g->tensor[i];

        if (t->memory != MEMORY_WEIGHTS && t->kind != TENSOR_PARAM)
            continue;
        strbuf_addstr(&s, t->name);
        if (!strstr(t->name, "num_batches_tracked"))
            for (int d = 0; d < t->ndim; d++)
                strbuf_addf(&s, "%c%" PRId64, d ? 'x' : ' ', t->dim[d]);
        strbuf_addch(&s, '\n');
    }
    graph_free(b.g);
    return strbuf_detach(&s);
}

static uint64_t fnv1a(const char *s)
{
    uint64_t h = 0xCBF29CE484222325u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001B3u;
    return h;
}

static void check_whole(const char *name)
{
    char *path = xasprintf("tests/golden/models/%s.keys", name), *got = state_dict(name);
    size_t len;
    char *want = file_read(path, &len);

    assert_non_null(want);
    assert_string_equal(got, want);
    free(want);
    free(got);
    free(path);
}

static void test_keys(void **state)
{
    char *text = file_read("tests/golden/models/keys.txt", &(size_t){0}), *save = NULL;
    int lines = 0;

    (void)state;
    check_whole("resnet18");
    check_whole("resnet50");
    assert_non_null(text);
    for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        char *name, *keys;
        uint64_t want = strtoull(l, &name, 16);

        keys = state_dict(name + 1);
        if (fnv1a(keys) != want)
            fail_msg("the state dict of%s is not timm's:\n%s", name, keys);
        free(keys);
        lines++;
    }
    assert_int_equal(lines, 161);
    free(text);
}

/* Checks the rates of the residual branches and of the dropout. */
static void check_drop_path(const char *name, const double *want, int npath)
{
    struct model_options o = {.drop_path = 0.2, .drop_rate = 0.5};
    struct net f = net_new(name, o, 1);
    int paths = 0, drops = 0;

    for (int i = 0; i < f.g->nnode; i++) {
        const struct node *n = f.g->node[i];
        const struct dropout_attrs *a = n->attrs;

        drops += n->op == &op_dropout && a->rate == 0.5f;
        if (n->op != &op_drop_path || paths == npath)
            continue;
        assert_true(fabs(a->rate - 0.2 * want[paths++]) < 1e-6);
    }
    assert_int_equal(paths, npath);
    assert_int_equal(drops, 1);
    net_release(&f);
}

/* p * i / (n - 1); the first is never dropped. EfficientNet: p * i / n, and blocks without
 * a shortcut count, too. */
static void test_drop_path(void **state)
{
    double resnet18[7], b0[] = {2. / 16,  4. / 16,  6. / 16,  7. / 16, 9. / 16,
                                10. / 16, 12. / 16, 13. / 16, 14. / 16};

    (void)state;
    for (int i = 0; i < 7; i++)
        resnet18[i] = (i + 1) / 7.0;
    check_drop_path("resnet18", resnet18, 7);
    check_drop_path("efficientnet_b0", b0, 9);
}

/* ReLU6: batch norms of small nets give no value above 6, so golden files do not show it. */
static void test_relu6(void **state)
{
    struct net f = net_new("mobilenetv2_100", (struct model_options){.classes = 10}, 1);
    int seen = 0;

    (void)state;
    for (int i = 0; i < f.g->nnode; i++)
        if (is_relu(f.g->node[i])) {
            assert_true(relu_limit(f.g->node[i]) == 6);
            seen++;
        }
    assert_int_equal(seen, 35);
    net_release(&f);
}

/*
 * ERFNet's dilated layers, by the paper (Romera et al. 2018, table I). The images of the
 * golden files are too small to distinguish 16 from more.
 */
static void test_dilations(void **state)
{
    static const int want[] = {2, 4, 8, 16, 2, 4, 8, 16};
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){1, 3, 64, 64});
    int seen = 0;

    (void)state;
    model_build(&b, model_named("erfnet"), &(struct model_options){.classes = 20}, x);
    for (int i = 0; i < b.g->nnode; i++) {
        const struct node *n = b.g->node[i];
        const struct conv2d_attrs *a = n->attrs;
        int layer, high, second;

        if (n->op != &op_conv2d)
            continue;
        if (sscanf(n->layer, "encoder.layers.%d.conv%dx%*d_%d", &layer, &high, &second) !=
                3 ||
            layer < 7 || second != 2) {
            assert_true(a->dilation_h == 1 && a->dilation_w == 1);
            continue;
        }
        assert_int_equal(a->dilation_h, high == 3 ? want[layer - 7] : 1);
        assert_int_equal(a->dilation_w, high == 3 ? 1 : want[layer - 7]);
        seen++;
    }
    assert_int_equal(seen, 16);
    graph_free(b.g);
}

static void check_why(const char *type, const char *name, const char *part)
{
    struct strbuf why = STRBUF_INIT;

    assert_null(model_find(type, name, &why));
    if (!strstr(why.buf, part))
        fail_msg("'%s' does not say '%s'", why.buf, part);
    strbuf_release(&why);
}

static void test_names(void **state)
{
    (void)state;
    assert_ptr_equal(model_named("resnet50.a1_in1k"), model_named("resnet50"));
    assert_ptr_equal(model_named("resnet50.tv2_in1k"), model_named("resnet50"));
    assert_ptr_not_equal(model_named("resnet50d"), model_named("resnet50"));
    check_why("resnet", "resnet5O", "did you mean resnet50?");
    check_why("resnet", "resnet_50", "did you mean resnet50?");
    check_why("resnet", "resnet", "did you mean resnet");
    check_why("resnet", "vgg16", "no model is called 'vgg16'; `trainc models` lists ");
    check_why("resnet", "", "no model is called ''");
    check_why("resnet", "resnet50.", "no tag ''");
    check_why("resnet", "resnet50.a1", "a1_in1k");
    check_why("resnet", "resnet20.a1_in1k", "it has: none");
    check_why("swim", "swin_tiny_patch4_window7_224",
              "(swin_tiny_patch4_window7_224 is a swin:");
    check_why("swin_moe", "swin_moe_small", "mixtures of experts cannot be built yet");
    check_why("swin", "resnet50.a1_in1k", "(resnet50 is a resnet: --model-type resnet)");
}

static void test_natural_order(void **state)
{
    (void)state;
    assert_true(model_natural_order("resnet18", "resnet101") < 0);
    assert_true(model_natural_order("resnet101", "resnet18") > 0);
    assert_true(model_natural_order("resnet50", "resnet50d") < 0);
    assert_true(model_natural_order("resnet50d", "resnet101") < 0);
    assert_true(model_natural_order("resnext101_32x4d", "resnext101_32x8d") < 0);
    assert_true(model_natural_order("resnext101_32x8d", "resnext101_64x4d") < 0);
    assert_int_equal(model_natural_order("resnet50", "resnet50"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),        cmocka_unit_test(test_options),
        cmocka_unit_test(test_keys),          cmocka_unit_test(test_drop_path),
        cmocka_unit_test(test_relu6),         cmocka_unit_test(test_names),
        cmocka_unit_test(test_natural_order), cmocka_unit_test(test_dilations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
