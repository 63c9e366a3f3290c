/** What can run statements, with several in one text. */
export interface FillDatabase {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, string>[] }>;
}

/** Uids of the teams that own runs; the first has two of five. */
export const fillTeams: readonly string[];
export function fillCreator(team: number, person: number): string;
export function fillSkill(skill: number): string;
export function fillEnvironment(environment: number): string;
export function fillRuns(
  db: FillDatabase,
  options: {
    readonly runs: number;
    readonly sentences?: number;
    readonly teams?: number;
    readonly log?: (line: string) => void;
  },
): Promise<void>;
