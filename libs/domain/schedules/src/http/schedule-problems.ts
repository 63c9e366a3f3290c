import { type Issue, ProblemError } from '#platform/http';
import { createRunRefusal } from '#domain/runs';
import type { SchedulesService } from '../application/schedules.service.js';

type ResultOf<Method extends Exclude<keyof SchedulesService, 'list'>> = Awaited<ReturnType<SchedulesService[Method]>>;
type Rejection = Exclude<
  ResultOf<'get' | 'create' | 'update' | 'delete'>,
  { kind: 'created' | 'updated' | 'deleted' | 'found' }
>;
type RunRejection = Exclude<ResultOf<'run'>, { kind: 'created' }>;

export function scheduleProblem(rejection: Rejection): ProblemError {
  switch (rejection.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'Schedule not found.');
    case 'not_yours':
      return new ProblemError(
        'not_authorized',
        'You have no access to this schedule, or your role does not allow this operation on it.',
      );
    case 'feature_not_available':
      return new ProblemError('feature_not_available', 'Schedules are disabled for the team.');
    case 'team_needed':
      return invalidFields([
        {
          pointer: '/team',
          detail: 'a caller on several teams must choose a team with the X-Headrace-Team-Uid header',
        },
      ]);
    case 'limit_reached':
      return new ProblemError('limit_reached', `A team or a user can have at most ${rejection.limit} schedules.`);
    case 'not_authorized':
      return new ProblemError('not_authorized', rejection.detail);
    case 'too_large': {
      const { pointer, detail } = rejection;
      return new ProblemError('payload_too_large', sentence(rejection), { errors: [{ pointer, detail }] });
    }
    case 'invalid':
      return invalidFields(rejection.issues);
  }
}

/** The same for a run that a caller starts. */
export function runScheduleProblem(rejection: RunRejection): ProblemError {
  switch (rejection.kind) {
    case 'unknown':
    case 'not_yours':
    case 'feature_not_available':
      return scheduleProblem(rejection);
    case 'invalid':
    case 'unavailable':
    case 'too_large':
      return createRunRefusal({ ...rejection, pointer: inSchedule(rejection.pointer) });
    case 'not_authorized':
    case 'conversation_busy':
    case 'key_reused':
      return createRunRefusal(rejection);
  }
}

export const invalidFields = (issues: readonly Issue[]): ProblemError =>
  new ProblemError('invalid_request', issues.map(sentence).join(' '), {
    errors: issues.map(({ pointer, detail }) => ({ pointer, detail })),
  });

/** The field `config` of a run request is `agent_config` in a schedule. */
const inSchedule = (pointer: string): string => pointer.replace(/^\/config(?=\/|$)/, '/agent_config');

/** `/agent_config/mcp_servers/a~1b` in prose: `agent_config.mcp_servers.a/b`. */
function sentence({ pointer, detail }: Issue): string {
  const name = pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  return `\`${name}\` ${detail}.`;
}
