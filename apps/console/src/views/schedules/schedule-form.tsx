import { useSignal } from '@preact/signals';
import { api, content, type Schemas } from '../../api/client';
import { Failure } from '../../components/basics';
import { ConfigFields, configOf } from '../../components/config-fields';
import { DialogForm, Field } from '../../components/form';
import { textOf } from '../../components/operation';
import { useResource } from '../../components/resource';
import { describeCron } from './cron';

type Schedule = Schemas['ScheduledAgentItem'];

const PRESETS = ['0 * * * *', '0 9 * * *', '0 9 * * 1-5', '0 9 * * 1', '0 9 1 * *'];
/** Works on every installation: the built-in agent executes it. */
const FIRST = { name: 'nightly', cron: '0 3 * * *', prompt: '```sh\ndate\n```' };

const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

interface ScheduleFormProps {
  /** Absent: a new one. */
  readonly schedule?: Schedule;
  /** Whether the form proposes contents, for a first schedule. */
  readonly isFirst?: boolean;
  readonly onSaved: (id: string) => void | Promise<void>;
  readonly onClose: () => void;
}

function ScheduleForm({ schedule, isFirst = false, onSaved, onClose }: ScheduleFormProps) {
  const start = isFirst ? FIRST : { name: '', cron: '', prompt: '' };
  const cron = useSignal(schedule?.cron_schedule ?? start.cron);
  const send = async (data: FormData): Promise<void> => {
    const fields = {
      name: textOf(data, 'name'),
      cron_schedule: cron.value.trim(),
      timezone: textOf(data, 'timezone').trim(),
      prompt: textOf(data, 'prompt'),
      overlap_policy: textOf(data, 'overlap') as Schemas['ScheduleOverlapPolicy'],
      enabled: data.has('enabled'),
    };
    const config = configOf(data, schedule?.agent_config);
    if (schedule === undefined) {
      const body = { ...fields, ...(config && { agent_config: config }) };
      await onSaved((await content(api.POST('/agent/schedules', { params: {}, body }))).id);
      return;
    }
    const { id: scheduleId, mode, jitter_seconds, metadata, agent_uid } = schedule;
    const kept = { mode, jitter_seconds, ...(metadata && { metadata }), ...(agent_uid !== undefined && { agent_uid }) };
    const body = { ...kept, ...fields, agent_config: config ?? null };
    await content(api.PUT('/agent/schedules/{scheduleId}', { params: { path: { scheduleId } }, body }));
    await onSaved(scheduleId);
  };
  return (
    <DialogForm
      title={schedule === undefined ? 'New schedule' : `Edit ${schedule.name}`}
      submit={schedule === undefined ? 'Create schedule' : 'Save'}
      send={send}
      onClose={onClose}
    >
      <Field label="Name" pointer="/name">
        {(control) => (
          <input {...control} name="name" required maxLength={200} defaultValue={schedule?.name ?? start.name} />
        )}
      </Field>
      <div class="pair">
        <Field label="Times" pointer="/cron_schedule" hint={<CronHint expression={cron.value} />}>
          {(control) => (
            <input
              {...control}
              class="code"
              name="cron"
              required
              maxLength={256}
              placeholder="minute hour day month weekday"
              value={cron.value}
              onInput={({ currentTarget }) => {
                cron.value = currentTarget.value;
              }}
            />
          )}
        </Field>
        <Field label="Time zone" pointer="/timezone" hint="In which the times are meant, such as Europe/Berlin.">
          {(control) => (
            <>
              <input
                {...control}
                name="timezone"
                list="time-zones"
                required
                defaultValue={schedule?.timezone ?? OWN_ZONE}
              />
              <datalist id="time-zones">
                {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
                  <option value={zone} key={zone} />
                ))}
              </datalist>
            </>
          )}
        </Field>
      </div>
      <div class="chips" role="group" aria-label="Often used times">
        {PRESETS.map((preset) => (
          <button
            type="button"
            class="chip"
            key={preset}
            aria-pressed={cron.value === preset}
            onClick={() => {
              cron.value = preset;
            }}
          >
            {describeCron(preset)}
          </button>
        ))}
      </div>
      <Field label="Prompt" pointer="/prompt">
        {(control) => (
          <textarea
            {...control}
            class="code"
            name="prompt"
            rows={6}
            required
            defaultValue={schedule?.prompt ?? start.prompt}
          />
        )}
      </Field>
      <ConfigFields pointer="/agent_config" config={schedule?.agent_config ?? {}} />
      <Field label="While the previous run is not finished" pointer="/overlap_policy">
        {(control) => (
          <select {...control} name="overlap">
            <option value="allow">start another run</option>
            <option value="skip" selected={schedule?.overlap_policy === 'skip'}>
              start no run
            </option>
          </select>
        )}
      </Field>
      <label>
        <input type="checkbox" name="enabled" defaultChecked={schedule?.enabled ?? true} /> Enabled
      </label>
    </DialogForm>
  );
}

const CronHint = ({ expression }: { readonly expression: string }) => (
  <span aria-live="polite">{describeCron(expression) ?? 'Minute, hour, day of the month, month, weekday.'}</span>
);

export const NewSchedule = ScheduleForm;

/** Lists have only the start of a prompt, so the schedule is read first. */
export function EditSchedule({
  id: scheduleId,
  ...props
}: Omit<ScheduleFormProps, 'schedule'> & { readonly id: string }) {
  const { data, failure } = useResource(
    () => content(api.GET('/agent/schedules/{scheduleId}', { params: { path: { scheduleId } } })),
    scheduleId,
  );
  return data === undefined ? <Failure message={failure} /> : <ScheduleForm schedule={data} {...props} />;
}
