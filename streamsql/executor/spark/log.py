"""Logging of Spark's JVM: its Log4j configuration."""

from __future__ import annotations

from pathlib import Path

_TIMERS = (
    "org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.timers"
    ".TimerStateImpl"
)

_LOG4J = """\
status = off
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
# It warns of every timer that is set twice, as those are that several rows share.
logger.timers.name = {timers}
logger.timers.level = error
# It prints all that it counts, in ten thousand characters, with each upload that was broken off.
logger.uploads.name = org.apache.hadoop.fs.s3a.S3AInstrumentation
logger.uploads.level = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {file}
appender.file.filePattern = {file}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}} [%t]: %m%n%ex
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 20MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
"""


def configured_log(file: Path) -> Path:
    """A copy of this logging configuration that writes to a file next to it."""
    configuration = file.with_name("log4j2.properties")
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text(_LOG4J.format(file=file, timers=_TIMERS), encoding="utf-8")
    return configuration
