/* The network that a job gets if no key names one; see session/job.h. */
#include "base/strbuf.h"
#include "session/job.h"

const char *job_net(const struct job *job, const char **why)
{
    if (job->side <= JOB_TINY) {
        *why = "images this small want the nets of CIFAR";
        return "resnet20";
    }
    *why = job->images < JOB_FEW_IMAGES
               ? "few images: pretrained weights are worth more than depth"
               : "many images: depth pays";
    return job->images < JOB_FEW_IMAGES ? "resnet18" : "resnet50";
}

void job_preset_model(struct config *cfg, const struct job *job)
{
    struct strbuf origin = STRBUF_INIT;
    const char *why, *name;

    if (!job->side || config_origin(cfg, "MODEL.NAME") ||
        config_origin(cfg, "MODEL.TYPE") || *cfg->model.pretrained)
        return;
    name = job_net(job, &why);
    strbuf_addf(&origin, CONFIG_JOB_ORIGIN "%s", why);
    config_preset(cfg, "MODEL.NAME", name, origin.buf);
    strbuf_release(&origin);
}
