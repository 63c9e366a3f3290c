import { api, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, Time, usePageTitle } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { absoluteTime } from '../../format';
import { navigate, query, setQuery } from '../../router';
import { may, team } from '../../session';
import { describeCron } from './cron';
import { DueTimes } from './due-times';
import { EditSchedule, NewSchedule } from './schedule-form';

export type Schedule = Schemas['ScheduledAgentItem'];

const REFRESH_MS = 10_000;

export function SchedulesPage() {
  usePageTitle('Schedules');
  const list = useResource(() => content(api.GET('/agent/schedules')), team.value ?? '', REFRESH_MS);
  const schedules = list.data?.schedules;
  const edited = query.value.get('edit');
  const isNew = query.value.get('new') !== null;
  const close = (): void => setQuery({ edit: null, new: null });
  const mayWrite = may('schedules:write');
  return (
    <>
      <div class="head">
        <h1>Schedules</h1>
        {mayWrite && (
          <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
            New schedule
          </button>
        )}
      </div>
      <Failure message={list.failure} />
      {schedules === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {schedules?.length === 0 && (
        <Empty title="No schedules yet">
          <p>
            A schedule creates a run at the times of a cron expression, also while nobody is signed in. The form
            proposes a first one, which needs no model and no repository.
          </p>
          {mayWrite && (
            <button type="button" class="primary" onClick={() => setQuery({ new: '1' })}>
              Create the first schedule
            </button>
          )}
        </Empty>
      )}
      {schedules !== undefined && schedules.length > 0 && (
        <>
          <DueTimes schedules={schedules} />
          <Table label="Schedules" columns={['Name', 'Times', 'Next', 'Last success', '']}>
            {schedules.map((schedule) => (
              <Row key={schedule.id} schedule={schedule} reload={list.reload} />
            ))}
          </Table>
        </>
      )}
      {isNew && schedules !== undefined && (
        <NewSchedule isFirst={schedules.length === 0} onSaved={list.reload} onClose={close} />
      )}
      {edited !== null && <EditSchedule key={edited} id={edited} onSaved={list.reload} onClose={close} />}
    </>
  );
}

function Row({ schedule, reload }: { readonly schedule: Schedule; readonly reload: () => Promise<void> }) {
  const { id, name, enabled, history, last_spawn_error: problem } = schedule;
  const { last_ran: last, next_run: next, upcoming = [] } = history;
  return (
    <tr>
      <td>
        <strong>
          <Link to={`schedules/${id}`}>{name}</Link>
        </strong>
        {problem !== null && <div class="failure">{problem}</div>}
      </td>
      <td>
        <Times schedule={schedule} />
      </td>
      <td>
        {enabled && next ? (
          <span title={upcoming.map(absoluteTime).join('\n')}>
            <Time at={next} />
          </span>
        ) : (
          <span class="muted">{schedule.paused_reason ?? 'Paused'}</span>
        )}
      </td>
      <td>{last ? <Time at={last} /> : <span class="muted">Never</span>}</td>
      <td>
        <div class="actions">
          <Link to={`runs?schedule=${id}`}>Runs</Link>
          {may('schedules:write') && (
            <>
              <button type="button" onClick={() => setQuery({ edit: id })}>
                Edit
              </button>
              <ScheduleActions schedule={schedule} onChanged={reload} onDeleted={reload} />
            </>
          )}
        </div>
      </td>
    </tr>
  );
}

export function Times({ schedule: { cron_schedule: cron, timezone } }: { readonly schedule: Schedule }) {
  const text = describeCron(cron);
  return (
    <>
      {text !== null && <div>{text}</div>}
      <code>{cron}</code> <span class="muted">{timezone}</span>
    </>
  );
}

interface ScheduleActionsProps {
  readonly schedule: Schedule;
  readonly onChanged: () => Promise<void>;
  readonly onDeleted: () => void | Promise<void>;
}

export function ScheduleActions({ schedule: { id, name, enabled }, onChanged, onDeleted }: ScheduleActionsProps) {
  const params = { path: { scheduleId: id } };
  return (
    <>
      <Action
        run={async () => {
          const { run_id: runId } = await content(api.POST('/agent/schedules/{scheduleId}/run', { params }));
          navigate(`runs/${runId}`);
        }}
      >
        Run now
      </Action>
      <Action
        run={async () => {
          await content(
            enabled
              ? api.POST('/agent/schedules/{scheduleId}/pause', { params })
              : api.POST('/agent/schedules/{scheduleId}/resume', { params }),
          );
          await onChanged();
        }}
      >
        {enabled ? 'Pause' : 'Resume'}
      </Action>
      <Action
        class="danger"
        confirm={`Delete the schedule ${name}?`}
        run={async () => {
          await content(api.DELETE('/agent/schedules/{scheduleId}', { params }));
          await onDeleted();
        }}
      >
        Delete
      </Action>
    </>
  );
}
