import { ProblemError } from '#platform/http';
import type { ChangeRefusal, CreateRefusal, LookupRefusal } from '../application/outcomes.js';
import type { FieldIssue } from '../domain/mcp-server.js';

/** What a resource of this room is called in answers. */
export type Noun = 'agent identity' | 'MCP server';

/** Answers to what a use case refuses, the same for both kinds of resource. */
export function refusal(noun: Noun, refused: LookupRefusal | ChangeRefusal | CreateRefusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError(
        'resource_not_found',
        noun === 'agent identity' ? 'Agent identity not found.' : 'MCP server not found.',
      );
    case 'not_yours':
      return new ProblemError(
        'not_authorized',
        `The ${noun} belongs to a team that is not yours, or your role does not allow this.`,
      );
    case 'not_authorized':
      return new ProblemError('not_authorized', sentences(refused.issues), { errors: refused.issues });
    case 'team_needed':
      return new ProblemError(
        'invalid_request',
        'A team is needed: a user on several teams picks one with the X-Headrace-Team-Uid header.',
      );
    case 'limit_reached':
      return new ProblemError('limit_reached', `A team has at most ${refused.limit} of this kind (${noun}).`);
    case 'name_taken':
      return invalidFields([{ pointer: '/name', detail: `is the name of another ${noun} of the team` }]);
    case 'invalid':
      return invalidFields(refused.issues);
  }
}

export function invalidFields(issues: readonly FieldIssue[]): ProblemError {
  return new ProblemError('invalid_request', sentences(issues), { errors: issues });
}

const sentences = (issues: readonly FieldIssue[]): string =>
  issues.map(({ pointer, detail }) => `${nameOf(pointer)} ${detail}.`).join(' ');

/** `/mcp_servers/a~1b` as people write it: `mcp_servers.a/b`. */
function nameOf(pointer: string): string {
  if (pointer === '') return 'The body';
  const name = pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  return `\`${name}\``;
}
