/** A duration in milliseconds as a person reads it: `0.4 s`, `12.3 s`, `2 min 5 s`. */
export function readableDuration(milliseconds) {
  const seconds = milliseconds / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
