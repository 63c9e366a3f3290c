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

  /** When each prompt was executed, by run and tag. */
  executions(): Map<string, string[]> {
    const executions = new Map<string, string[]>();
    if (!existsSync(this.file)) return executions;
    for (const line of readFileSync(this.file, 'utf8').split('\n').filter(Boolean)) {
      const [runId = '', tag = '', , at = ''] = line.split(' ');
      const key = keyOf(runId, tag);
      executions.set(key, [...(executions.get(key) ?? []), new Date(Number(at)).toISOString()]);
    }
    return executions;
  }
}

export const keyOf = (runId: string, tag: string): string => `${runId} ${tag}`;
