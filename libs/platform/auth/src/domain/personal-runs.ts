import type { Membership } from './principal.js';
import { can } from './roles.js';

/** Who may have personal runs (`PERSONAL_RUNS`), from the widest to the narrowest. */
export const PERSONAL_RUNS = ['everybody', 'members', 'nobody'] as const;
export type PersonalRuns = (typeof PERSONAL_RUNS)[number];

/** Whether a person with these memberships may have personal runs. `members`: needs `runs:write` on at least one team. */
export function mayHavePersonalRuns(setting: PersonalRuns, memberships: readonly Pick<Membership, 'role'>[]): boolean {
  switch (setting) {
    case 'everybody':
      return true;
    case 'members':
      return memberships.some(({ role }) => can(role, 'runs:write'));
    case 'nobody':
      return false;
  }
}
