import { type Issue, ProblemError } from '#platform/http';
import { createRunRefusal } from '#domain/runs';
import type { ScheduleLookup } from '../application/find-schedules.js';
import type { RunScheduleResult } from '../application/run-schedule.js';
import type {
  ChangeScheduleResult,
  CreateScheduleResult,
  DeleteScheduleResult,
} from '../application/schedule-outcomes.js';

type Result = CreateScheduleResult | ChangeScheduleResult | DeleteScheduleResult | ScheduleLookup;
type Refusal = Exclude<Result, { kind: 'created' | 'changed' | 'deleted' | 'found' }>;
type RunRefusal = Exclude<RunScheduleResult, { kind: 'created' }>;

/** Answers to what a use case refuses. */
export function scheduleRefusal(refused: Refusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
      return new ProblemError('resource_not_found', 'Schedule not found.');
    case 'not_yours':
      return new ProblemError(
        'not_authorized',
        'You have no access to this schedule, or your role does not allow this on it.',
      );
    case 'feature_not_available':
      return new ProblemError('feature_not_available', 'Schedules are switched off for the team.');
    case 'team_needed':
      return invalidFields([
        { pointer: '/team', detail: 'a caller on several teams picks the team with the X-Headrace-Team-Uid header' },
      ]);
    case 'limit_reached':
      return new ProblemError('limit_reached', `A team, or a person, has at most ${refused.limit} schedules.`);
    case 'not_authorized':
      return new ProblemError('not_authorized', refused.detail);
    case 'too_large': {
      const { pointer, detail } = refused;
      return new ProblemError('payload_too_large', sentence(refused), { errors: [{ pointer, detail }] });
    }
    case 'invalid':
      return invalidFields(refused.issues);
  }
}

/** The same, where a run was to be started out of turn. */
export function runScheduleRefusal(refused: RunRefusal): ProblemError {
  switch (refused.kind) {
    case 'unknown':
    case 'not_yours':
    case 'feature_not_available':
      return scheduleRefusal(refused);
    case 'invalid':
    case 'unavailable':
    case 'too_large':
      return createRunRefusal({ ...refused, pointer: inSchedule(refused.pointer) });
    case 'not_authorized':
    case 'conversation_busy':
    case 'key_reused':
      return createRunRefusal(refused);
  }
}

export const invalidFields = (issues: readonly Issue[]): ProblemError =>
  new ProblemError('invalid_request', issues.map(sentence).join(' '), {
    errors: issues.map(({ pointer, detail }) => ({ pointer, detail })),
  });

/** What is `config` in a request for a run is `agent_config` in a schedule. */
const inSchedule = (pointer: string): string => pointer.replace(/^\/config(?=\/|$)/, '/agent_config');

/** `/agent_config/mcp_servers/a~1b` as people write it: `agent_config.mcp_servers.a/b`. */
function sentence({ pointer, detail }: Issue): string {
  const name = pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  return `\`${name}\` ${detail}.`;
}
