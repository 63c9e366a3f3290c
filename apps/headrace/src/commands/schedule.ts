import { parseArgs } from 'node:util';
import { onlyPositional, required } from '../cli/arguments.js';
import type { CommandModule } from '../cli/command.js';
import { printResult, printTable, timeCell } from '../cli/output.js';
import { printable } from '../cli/printable.js';
import { connect, REMOTE_OPTIONS } from '../remote/connect.js';
import { OWNER_OPTIONS, readOwner, readRunConfig, readText, RUN_CONFIG_OPTIONS } from '../remote/run-options.js';

const TEXT = { type: 'string' } as const;
const SWITCH = { type: 'boolean' } as const;

interface RemoteSchedule {
  readonly id: string;
  readonly name: string;
  readonly cron_schedule: string;
  readonly timezone: string;
  readonly enabled: boolean;
  readonly history: { readonly last_ran: string | null; readonly next_run: string | null };
}

const CREATE_OPTIONS = {
  ...REMOTE_OPTIONS,
  ...OWNER_OPTIONS,
  ...RUN_CONFIG_OPTIONS,
  ...{ 'worker-host': TEXT, name: TEXT, cron: TEXT, timezone: TEXT, prompt: TEXT, agent: TEXT, skill: TEXT },
  ...{ 'overlap-policy': TEXT, disabled: SWITCH },
} as const;

/** The schedule's id goes to standard output. */
export const create: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: CREATE_OPTIONS });
    const config = {
      ...readRunConfig(values),
      ...(values.skill !== undefined && { skill_spec: values.skill }),
    };
    const body = {
      name: required('name', values.name),
      cron_schedule: required('cron', values.cron),
      prompt: readText('prompt', values.prompt, values['token-file']),
      enabled: values.disabled !== true,
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
};

const LIST_OPTIONS = { ...REMOTE_OPTIONS, team: TEXT } as const;

export const list: CommandModule = {
  run: async (args) => {
    const { values } = parseArgs({ args: [...args], options: LIST_OPTIONS });
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
};

export const get: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    const id = onlyPositional('schedule-id', positionals);
    const schedule = await (await connect(values)).request<RemoteSchedule>('GET', schedulePath(id));
    printResult({ json: true }, schedule, '');
    return 0;
  },
};

export const remove: CommandModule = {
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    const id = onlyPositional('schedule-id', positionals);
    const answer = await (await connect(values)).request('DELETE', schedulePath(id));
    printResult(values, answer, `Schedule ${printable(id)} is deleted.`);
    return 0;
  },
};

/** A command that posts to one of the schedule's actions. */
const action = <T>(name: string, textOf: (answer: T) => string): CommandModule => ({
  run: async (args) => {
    const { values, positionals } = parseArgs({ args: [...args], options: REMOTE_OPTIONS, allowPositionals: true });
    const id = onlyPositional('schedule-id', positionals);
    const answer = await (await connect(values)).request<T>('POST', schedulePath(id, `/${name}`));
    printResult(values, answer, textOf(answer));
    return 0;
  },
});

export const pause = action<RemoteSchedule>('pause', ({ name }) => `Schedule ${printable(name)} is paused.`);
export const resume = action<RemoteSchedule>('resume', (schedule) => nextRunOf(schedule));
/** The id of the run that it starts goes to standard output. */
export const runNow = action<{ run_id: string }>('run', ({ run_id: runId }) => runId);

/** A path segment: what was typed cannot name another resource. */
const schedulePath = (id: string, rest = ''): string => `/agent/schedules/${encodeURIComponent(id)}${rest}`;

const nextRunOf = ({ name, history: { next_run: next } }: RemoteSchedule): string =>
  `Schedule ${printable(name)} ${next === null ? 'is paused' : `starts its next run at ${next}`}.`;
