"""The JVM part: its Java sources, the jars that it needs, and the JDK that runs it."""
