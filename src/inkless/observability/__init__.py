"""What the process tells its operators: log lines and metrics.

Hot paths count into plain integers on objects they own (`XyzCounters`, slotted) and into `Histogram`, whose
`observe` is an addition in a list. Nothing is computed until somebody looks: `MetricsRegistry.render` reads
all of them when it is asked, and `MetricsServer` asks it over HTTP. Logging is the standard library's, with
`extra=` for what a machine wants to find again.

Neither can stop the broker. A source that fails while it is read is left out and reported in the log; a
client of the metrics server that is slow, large or malformed is cut off alone.
"""

from inkless.observability.histogram import LATENCY_BOUNDS_S, Histogram
from inkless.observability.http import MetricsServer
from inkless.observability.logs import configure_logging
from inkless.observability.registry import MetricsRegistry

__all__ = ["LATENCY_BOUNDS_S", "Histogram", "MetricsRegistry", "MetricsServer", "configure_logging"]
