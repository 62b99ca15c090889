"""Writes the golden file of tests/io/test_tensorboard.c: the same events, written with
TensorBoard's own protocol buffers and record writer. If KEEP is given, then reads the file
that the test left in that folder with TensorBoard's reader.

  io_tensorboard.py [KEEP]       needs tensorboard
"""
import io
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

WALL = 1700000000.25


class Keep(io.BytesIO):
    def close(self):
        pass


def scalar(tag, step, value):
    s = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)])
    return event_pb2.Event(wall_time=WALL, step=step, summary=s)


def text(tag, step, value):
    meta = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text"))
    tensor = tensor_pb2.TensorProto(
        dtype="DT_STRING", string_val=[value.encode()],
        tensor_shape=tensor_shape_pb2.TensorShapeProto(
            dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)]))
    s = summary_pb2.Summary(
        value=[summary_pb2.Summary.Value(tag=tag, metadata=meta, tensor=tensor)])
    return event_pb2.Event(wall_time=WALL, step=step, summary=s)


def hparams(tag, **message):
    content = plugin_data_pb2.HParamsPluginData(**message).SerializeToString(deterministic=True)
    meta = summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(
        plugin_name="hparams", content=content))
    s = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, metadata=meta)])
    return event_pb2.Event(wall_time=WALL, summary=s)


def hparam_events():
    types = {"A.LR": "DATA_TYPE_FLOAT64", "B.ON": "DATA_TYPE_BOOL", "C.NAME": "DATA_TYPE_STRING"}
    experiment = api_pb2.Experiment(
        time_created_secs=int(WALL),
        hparam_infos=[api_pb2.HParamInfo(name=n, type=t) for n, t in types.items()],
        metric_infos=[api_pb2.MetricInfo(name=api_pb2.MetricName(tag=t))
                      for t in ("val/val_top1", "train/loss")])
    start = plugin_data_pb2.SessionStartInfo(start_time_secs=int(WALL))
    start.hparams["A.LR"].number_value = 0.1
    start.hparams["B.ON"].bool_value = True
    start.hparams["C.NAME"].string_value = "sgd"
    return [hparams("_hparams_/experiment", experiment=experiment),
            hparams("_hparams_/session_start_info", session_start_info=start)]


def main():
    out = Keep()
    writer = RecordWriter(out)
    for event in [
        event_pb2.Event(wall_time=WALL, file_version="brain.Event:2"),
        event_pb2.Event(wall_time=WALL, step=1000, session_log=event_pb2.SessionLog(
            status=event_pb2.SessionLog.START)),
        scalar("train/loss", 0, 2.302585),
        scalar("train/loss", 1000, 0.0),
        scalar("train/lr", 3_000_000_000, -1e-30),
        text("config", 1000, "x" * 300),
        *hparam_events(),
    ]:
        writer.write(event.SerializeToString())
    with open("tests/golden/io/events.bin", "wb") as f:
        f.write(out.getvalue())

    if len(sys.argv) > 1:
        acc = EventAccumulator(sys.argv[1])
        acc.Reload()
        print(acc.Tags())
        # The first file has steps 1 to 5, the second starts again at 4.
        assert [e.step for e in acc.Scalars("loss")] == [1, 2, 3, 4, 5], acc.Scalars("loss")
        assert [e.value for e in acc.Scalars("loss")] == [1, 2, 3, 104, 105]
        print("ok")


if __name__ == "__main__":
    main()
