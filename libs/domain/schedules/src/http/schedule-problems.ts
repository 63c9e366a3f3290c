import { forbidden, invalidInput, limitReached, notFound, ProblemError, tooLarge } from '#platform/http';
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
      return notFound('schedule');
    case 'not_yours':
      return forbidden('schedule');
    case 'feature_not_available':
      return new ProblemError('feature_not_available', 'Schedules are disabled for the team.');
    case 'team_needed':
      return invalidInput([
        {
          pointer: '/team',
          detail: 'a caller on several teams must choose a team with the X-Headrace-Team-Uid header',
        },
      ]);
    case 'limit_reached':
      return limitReached('A team or a user', rejection.limit, 'schedules');
    case 'not_authorized':
      return new ProblemError('not_authorized', rejection.detail);
    case 'too_large':
      return tooLarge(rejection);
    case 'invalid':
      return invalidInput(rejection.issues);
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

/** The field `config` of a run request is `agent_config` in a schedule. */
const inSchedule = (pointer: string): string => pointer.replace(/^\/config(?=\/|$)/, '/agent_config');
