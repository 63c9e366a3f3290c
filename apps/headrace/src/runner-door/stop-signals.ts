export interface StopSignals {
  readonly drain: AbortSignal;
  readonly abort: AbortSignal;
}

/** The first of these signals drains, the second ends at once. Without SIGHUP among them, that one is ignored. */
export function stopSignals(names: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT']): StopSignals {
  const [drain, abort] = [new AbortController(), new AbortController()];
  for (const name of names) process.on(name, () => (drain.signal.aborted ? abort : drain).abort());
  if (!names.includes('SIGHUP')) process.on('SIGHUP', () => undefined);
  return { drain: drain.signal, abort: abort.signal };
}
