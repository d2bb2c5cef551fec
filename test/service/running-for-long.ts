/** Loaded before a service process (`--import`): its monotonic clock begins at 57 s, so that what happens every minute soon happens. */
const now = performance.now.bind(performance);
performance.now = () => now() + 57_000;
