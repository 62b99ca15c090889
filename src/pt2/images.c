#include "pt2/images.h"

#include <math.h>
#include <string.h>

#define INPUT "input" /* of the extra file, and of the member of the program */

bool pt2_images_embed(json_t *root, const struct pt2_file *file, struct strbuf *why)
{
    struct strbuf text = STRBUF_INIT;
    bool ok = !pt2_file_extra(file, INPUT, &text, why);
    json_t *v = ok && text.len ? json_parse(text.buf, text.len, why) : NULL;

    ok = ok && (v || !text.len);
    (void)json_object_del(root, INPUT);
    if (v)
        (void)json_object_set_new(root, INPUT, v);
    strbuf_release(&text);
    return ok;
}

/* Gets three finite numbers of at least `min`. */
static bool get_three(const json_t *list, double min, double *dst)
{
    for (size_t i = 0; i < 3; i++) {
        dst[i] = json_number_value(json_array_get(list, i));
        if (!json_is_number(json_array_get(list, i)) || !isfinite(dst[i]) || dst[i] < min)
            return false;
    }
    return json_array_size(list) == 3;
}

static bool is_text(const json_t *v, const char *text)
{
    return json_is_string(v) && !strcmp(json_string_value(v), text);
}

const char *pt2_images_parse(struct pt2_program *p, json_t *root)
{
    struct pt2_images *im = &p->images;
    const json_t *v = json_object_get(root, INPUT), *mean = json_object_get(v, "mean"),
                 *std = json_object_get(v, "std"), *crop = json_object_get(v, "crop_pct"),
                 *method = json_object_get(v, "interpolation");

    *im = (struct pt2_images){
        .mean = {0.485, 0.456, 0.406}, .std = {0.229, 0.224, 0.225}, .crop_pct = 0.875};
    if (v && !json_is_object(v))
        return "its file extra/input is not a JSON object";
    if (mean && !get_three(mean, -1e3, im->mean))
        return "extra/input: its mean is not a list of 3 numbers";
    if (std && !get_three(std, 1e-3, im->std))
        return "extra/input: its std is not a list of 3 numbers of at least 0.001";
    im->crop_pct = crop ? json_number_value(crop) : im->crop_pct;
    if (!(im->crop_pct > 0.01) || im->crop_pct > 1)
        return "extra/input: its crop_pct is not between 0 and 1";
    if (method && !is_text(method, "bilinear") && !is_text(method, "bicubic"))
        return "extra/input: its interpolation is neither bilinear nor bicubic";
    im->bilinear = is_text(method, "bilinear");
    return NULL;
}
