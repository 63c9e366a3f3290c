import { CursorCodec } from '#platform/kernel';

/** How far a stream has told a run's log: its timeline and its conversation, which do not advance at the same moments. */
export interface LivePosition {
  readonly timeline: number;
  readonly conversation: number;
}

export const START: LivePosition = { timeline: 0, conversation: 0 };

/** Event ids of streams: opaque, signed, good for one run in every process that has the same key. */
export class LivePositions {
  private readonly codec: CursorCodec;

  constructor(secretsKey: string) {
    this.codec = new CursorCodec(`live positions ${secretsKey}`);
  }

  encode(runId: string, { timeline, conversation }: LivePosition): string {
    return this.codec.encode([timeline, conversation], runId);
  }

  /** Null when it is no event id of this run. */
  decode(runId: string, id: string): LivePosition | null {
    const [timeline, conversation] = this.codec.decode(id, runId) ?? [];
    return typeof timeline === 'number' && typeof conversation === 'number' ? { timeline, conversation } : null;
  }
}
