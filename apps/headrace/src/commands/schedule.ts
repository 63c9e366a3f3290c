import { choice, type CommandModule, flag, requiredText, text } from '../cli/command.js';
import { printable, printJson, printResult, printTable, timeCell } from '../cli/output.js';
import { OWNER_OPTIONS, PLACED_RUN_OPTIONS, TEAM_FILTER } from '../cli/shared-options.js';
import { apiCommand } from '../remote/connect.js';
import { readOwner, readRunConfig, readText } from '../remote/run-options.js';

interface RemoteSchedule {
  readonly id: string;
  readonly name: string;
  readonly cron_schedule: string;
  readonly timezone: string;
  readonly enabled: boolean;
  readonly history: { readonly last_ran: string | null; readonly next_run: string | null };
}

export const create = apiCommand({
  options: {
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
  },
  run: async (api, values) => {
    const body = {
      name: values.name,
      cron_schedule: values.cron,
      prompt: readText('prompt', values.prompt, values['token-file']),
      enabled: !values.disabled,
      agent_config: readRunConfig(values, { skill_spec: values.skill }),
      timezone: values.timezone,
      agent_uid: values.agent,
      overlap_policy: values['overlap-policy'],
      ...readOwner(values),
    };
    const created = await api.post<RemoteSchedule>('/agent/schedules', body, values.team);
    process.stderr.write(`${nextRunOf(created)}\n`);
    printResult(values, created, created.id);
  },
});

export const list = apiCommand({
  options: TEAM_FILTER,
  run: async (api, values) => {
    const { schedules } = await api.get<{ schedules: RemoteSchedule[] }>('/agent/schedules', values.team);
    const columns = ['SCHEDULE', 'NAME', 'CRON', 'TIME ZONE', 'STATE', 'LAST RUN', 'NEXT RUN'];
    printTable(values, schedules, columns, (schedule) => [
      ...[schedule.id, schedule.name, schedule.cron_schedule, schedule.timezone],
      ...[schedule.enabled ? 'enabled' : 'paused', timeCell(schedule.history.last_ran)],
      timeCell(schedule.history.next_run),
    ]);
  },
});

export const get = apiCommand({
  argument: 'schedule-id',
  run: async (api, _values, id) => printJson(await api.get(schedulePath(id))),
});

export const remove = apiCommand({
  argument: 'schedule-id',
  run: async (api, values, id) => {
    const answer = await api.request('DELETE', schedulePath(id));
    printResult(values, answer, `Schedule ${printable(id)} is deleted.`);
  },
});

const action = <T>(name: string, textOf: (answer: T) => string): CommandModule =>
  apiCommand({
    argument: 'schedule-id',
    run: async (api, values, id) => {
      const answer = await api.post<T>(schedulePath(id, `/${name}`));
      printResult(values, answer, textOf(answer));
    },
  });

export const pause = action<RemoteSchedule>('pause', ({ name }) => `Schedule ${printable(name)} is paused.`);
export const resume = action<RemoteSchedule>('resume', (schedule) => nextRunOf(schedule));
export const runNow = action<{ run_id: string }>('run', ({ run_id: runId }) => runId);

/** A path segment: what was typed cannot name another resource. */
const schedulePath = (id: string, rest = ''): string => `/agent/schedules/${encodeURIComponent(id)}${rest}`;

const nextRunOf = ({ name, history: { next_run: next } }: RemoteSchedule): string =>
  `Schedule ${printable(name)} ${next === null ? 'is paused' : `starts its next run at ${next}`}.`;
