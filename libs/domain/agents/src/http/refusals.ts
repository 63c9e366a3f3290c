import {
  forbidden,
  inaccessibleReferences,
  invalidInput,
  limitReached,
  notFound,
  type ProblemError,
  teamRequired,
} from '#platform/http';
import type { ChangeRefusal, CreateRefusal, LookupRefusal } from '../application/outcomes.js';

export type Noun = 'agent identity' | 'MCP server';
const PLURALS: Readonly<Record<Noun, string>> = { 'agent identity': 'agent identities', 'MCP server': 'MCP servers' };

/** The mapping from rejections to problems, the same for both kinds of resource. */
export function refusal(noun: Noun, refused: LookupRefusal | ChangeRefusal | CreateRefusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return notFound(noun);
    case 'not_yours':
      return forbidden(noun);
    case 'not_authorized':
      return inaccessibleReferences(refused.issues);
    case 'team_needed':
      return teamRequired();
    case 'limit_reached':
      return limitReached('A team', refused.limit, PLURALS[noun]);
    case 'name_taken':
      return invalidInput([{ pointer: '/name', detail: `is the name of another ${noun} of the team` }]);
    case 'invalid':
      return invalidInput(refused.issues);
  }
}
