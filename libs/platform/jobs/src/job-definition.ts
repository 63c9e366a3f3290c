/** A kind of job: its queue and its name there. Payloads are small JSON objects; the truth is always in our own tables. */
export interface JobDefinition<Payload extends object = object> {
  readonly queue: string;
  readonly name: string;
  /** Type only: what a handler receives. */
  readonly payload?: Payload;
}

const known = new Map<string, JobDefinition>();

/** Declares a job once, at module level. Throws when the name is taken in its queue. */
export function defineJob<Payload extends object>(queue: string, name: string): JobDefinition<Payload> {
  const key = `${queue}/${name}`;
  if (known.has(key)) throw new Error(`Job ${key} is defined twice: give one of them another name.`);
  const definition: JobDefinition<Payload> = { queue, name };
  known.set(key, definition);
  return definition;
}

/** Every job that any loaded library defines. */
export function definedJobs(): readonly JobDefinition[] {
  return [...known.values()];
}
