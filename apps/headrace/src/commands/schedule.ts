import { choice, command, type CommandModule, flag, requiredText, text } from '../cli/command.js';
import { printable, printResult, printTable, timeCell } from '../cli/output.js';
import { OWNER_OPTIONS, PLACED_RUN_OPTIONS, REMOTE_OPTIONS, TEAM_FILTER } from '../cli/shared-options.js';
import { connect } from '../remote/connect.js';
import { readOwner, readRunConfig, readText } from '../remote/run-options.js';

interface RemoteSchedule {
  readonly id: string;
  readonly name: string;
  readonly cron_schedule: string;
  readonly timezone: string;
  readonly enabled: boolean;
  readonly history: { readonly last_ran: string | null; readonly next_run: string | null };
}

const CREATE_OPTIONS = {
  name: requiredText('text', 'Name.'),
  cron: requiredText('expression', 'Cron expression of the due times.'),
  prompt: requiredText('text', 'Prompt of the runs; - reads standard input.'),
  timezone: text('name', 'IANA time zone of the cron expression.'),
  disabled: flag('Create it paused.'),
  'overlap-policy': choice(['allow', 'skip'], 'What happens while an earlier run is not ended.'),
  skill: text('spec', 'Skill to execute.'),
  agent: text('uid', 'Agent identity to run as.'),
  ...PLACED_RUN_OPTIONS,
  ...OWNER_OPTIONS,
  ...REMOTE_OPTIONS,
};

/** The schedule's id goes to standard output. */
export const create = command({
  options: CREATE_OPTIONS,
  run: async (values) => {
    const config = {
      ...readRunConfig(values),
      ...(values.skill !== undefined && { skill_spec: values.skill }),
    };
    const body = {
      name: values.name,
      cron_schedule: values.cron,
      prompt: readText('prompt', values.prompt, values['token-file']),
      enabled: !values.disabled,
      ...(Object.keys(config).length > 0 && { agent_config: config }),
      ...(values.timezone !== undefined && { timezone: values.timezone }),
      ...(values.agent !== undefined && { agent_uid: values.agent }),
      ...(values['overlap-policy'] !== undefined && { overlap_policy: values['overlap-policy'] }),
      ...readOwner(values),
    };
    const api = await connect(values);
    const created = await api.request<RemoteSchedule>('POST', '/agent/schedules', body, values.team);
    process.stderr.write(`${nextRunOf(created)}\n`);
    printResult(values, created, created.id);
    return 0;
  },
});

export const list = command({
  options: { ...TEAM_FILTER, ...REMOTE_OPTIONS },
  run: async (values) => {
    const api = await connect(values);
    const path = '/agent/schedules';
    const { schedules } = await api.request<{ schedules: RemoteSchedule[] }>('GET', path, undefined, values.team);
    const columns = ['SCHEDULE', 'NAME', 'CRON', 'TIME ZONE', 'STATE', 'LAST RUN', 'NEXT RUN'];
    printTable(values, schedules, columns, (schedule) => [
      ...[schedule.id, schedule.name, schedule.cron_schedule, schedule.timezone],
      ...[schedule.enabled ? 'enabled' : 'paused', timeCell(schedule.history.last_ran)],
      timeCell(schedule.history.next_run),
    ]);
    return 0;
  },
});

export const get = command({
  argument: 'schedule-id',
  options: REMOTE_OPTIONS,
  run: async (values, id) => {
    const schedule = await (await connect(values)).request<RemoteSchedule>('GET', schedulePath(id));
    printResult({ json: true }, schedule, '');
    return 0;
  },
});

export const remove = command({
  argument: 'schedule-id',
  options: REMOTE_OPTIONS,
  run: async (values, id) => {
    const answer = await (await connect(values)).request('DELETE', schedulePath(id));
    printResult(values, answer, `Schedule ${printable(id)} is deleted.`);
    return 0;
  },
});

/** A command that posts to an action of the schedule. */
const action = <T>(name: string, textOf: (answer: T) => string): CommandModule =>
  command({
    argument: 'schedule-id',
    options: REMOTE_OPTIONS,
    run: async (values, id) => {
      const answer = await (await connect(values)).request<T>('POST', schedulePath(id, `/${name}`));
      printResult(values, answer, textOf(answer));
      return 0;
    },
  });

export const pause = action<RemoteSchedule>('pause', ({ name }) => `Schedule ${printable(name)} is paused.`);
export const resume = action<RemoteSchedule>('resume', (schedule) => nextRunOf(schedule));
/** Prints the id of the started run. */
export const runNow = action<{ run_id: string }>('run', ({ run_id: runId }) => runId);

/** A path segment: what was typed cannot name another resource. */
const schedulePath = (id: string, rest = ''): string => `/agent/schedules/${encodeURIComponent(id)}${rest}`;

const nextRunOf = ({ name, history: { next_run: next } }: RemoteSchedule): string =>
  `Schedule ${printable(name)} ${next === null ? 'is paused' : `starts its next run at ${next}`}.`;
