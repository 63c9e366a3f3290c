import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file outside of all workspaces to which each prompt appends that it is executed. */
export class Witness {
  private readonly file: string;

  constructor(directory: string) {
    const place = join(directory, 'witness');
    mkdirSync(place);
    // As root, agents have their own users.
    chmodSync(place, 0o777);
    this.file = join(place, 'executions');
  }

  /** For the built-in agent: notes the run, the tag, its process and the time, and then takes so many seconds. */
  prompt(tag: string, seconds: number): string {
    const note = `umask 000; echo "$HEADRACE_RUN_ID ${tag} $$ $(date +%s%3N)" >> ${this.file}`;
    return `\`\`\`sh\n${note}; sleep ${seconds.toFixed(1)}\n\`\`\``;
  }

  /** How often each prompt was executed, by run and tag. */
  executions(): Map<string, number> {
    const counts = new Map<string, number>();
    if (!existsSync(this.file)) return counts;
    for (const line of readFileSync(this.file, 'utf8').split('\n').filter(Boolean)) {
      const [runId = '', tag = ''] = line.split(' ');
      counts.set(keyOf(runId, tag), (counts.get(keyOf(runId, tag)) ?? 0) + 1);
    }
    return counts;
  }
}

export const keyOf = (runId: string, tag: string): string => `${runId} ${tag}`;
