# The one place that says tp's version; CHANGELOG.md says what each one changed.
set(TP_VERSION 0.1.0)
