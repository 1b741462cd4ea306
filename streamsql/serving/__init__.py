"""Tables answered out of stores on disk that follow their topics: in milliseconds, with no job."""
