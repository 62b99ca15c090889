"""Prints the hyperparameters and metrics that the plugin of TensorBoard's HPARAMS tab finds
for each run below a folder. Fails if a run has none.

  io_hparams.py OUTPUT       needs tensorboard
"""
import inspect
import sys

from tensorboard import context
from tensorboard.backend.event_processing import data_provider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import (api_pb2, backend_context, get_experiment,
                                         list_session_groups)


def ask(handler, backend, request):
    """Calls the handlers, in any version."""
    request = request or api_pb2.GetExperimentRequest()
    named = {"request_context": context.RequestContext(), "backend_context": backend,
             "experiment_id": "", "request": request, "experiment": ""}
    wanted = list(inspect.signature(handler.__init__).parameters)[1:]
    return handler(*[named[w] for w in wanted if w in named]).run()


def main():
    folder = sys.argv[1]
    runs = EventMultiplexer().AddRunsFromDirectory(folder)
    runs.Reload()
    backend = backend_context.Context(base_plugin.TBContext(
        data_provider=data_provider.MultiplexerDataProvider(runs, folder), logdir=folder))
    experiment = ask(get_experiment.Handler, backend, None)
    print("hyperparameters:", *[h.name for h in experiment.hparam_infos])
    print("metrics:", *[m.name.tag for m in experiment.metric_infos])
    request = api_pb2.ListSessionGroupsRequest(start_index=0, slice_size=100,
                                               allowed_statuses=[0, 1, 2, 3])
    for h in experiment.hparam_infos:
        request.col_params.add(hparam=h.name)
    groups = ask(list_session_groups.Handler, backend, request).session_groups
    for g in groups:
        print(g.name, {k: v.WhichOneof("kind") and getattr(v, v.WhichOneof("kind"))
                       for k, v in sorted(g.hparams.items())},
              {m.name.tag: (m.training_step, m.value) for m in g.metric_values})
        assert g.hparams and g.metric_values, g.name
    assert len(groups) == len(runs.Runs()), (len(groups), runs.Runs())
    print("ok")


if __name__ == "__main__":
    main()
