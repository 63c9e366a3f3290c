import type { RunnerEvent } from '#execution/runner-protocol';

/** A run as the command tells of it; never with its token. */
export interface ToldRun {
  readonly run_id: string;
  readonly execution_id: string;
}

export interface ToldEnd {
  readonly state: string;
  readonly message?: string;
}

/** What whoever started the command sees of the run. */
export interface Progress {
  begin(run: ToldRun, page: string): void;
  event(event: RunnerEvent): void;
  end(end: ToldEnd): void;
}

/** One JSON object a line: `{type: "run" | "event" | "end", …}`. */
export class JsonProgress implements Progress {
  constructor(private readonly write: (text: string) => void) {}

  begin({ run_id, execution_id }: ToldRun, page: string): void {
    this.line({ type: 'run', run_id, execution_id, page });
  }

  event({ kind, at, data }: RunnerEvent): void {
    this.line({ type: 'event', kind, at, data });
  }

  end({ state, message }: ToldEnd): void {
    this.line({ type: 'end', state, ...(message === undefined ? {} : { message }) });
  }

  private line(value: object): void {
    this.write(`${JSON.stringify(value)}\n`);
  }
}
