"""What everything else is built on: values, errors, files, places, plugins, wording and statistics."""
