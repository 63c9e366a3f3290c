const UNITS = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `250ms`, `90s`, `10m` or `10min`, `24h`, `7d` in milliseconds; null for any other text. */
export function parseDuration(value: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|min|h|d)$/.exec(value);
  return match ? Math.round(Number(match[1]) * UNITS[match[2] as keyof typeof UNITS]) : null;
}
