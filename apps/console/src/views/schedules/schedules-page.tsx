import { api, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, Time, usePageTitle } from '../../components/basics';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { absoluteTime } from '../../format';
import { navigate } from '../../router';
import { may, team } from '../../session';

type Schedule = Schemas['ScheduledAgentItem'];

const REFRESH_MS = 10_000;

export function SchedulesPage() {
  usePageTitle('Schedules');
  const list = useResource(() => content(api.GET('/agent/schedules')), team.value ?? '', REFRESH_MS);
  const schedules = list.data?.schedules;
  return (
    <>
      <div class="head">
        <h1>Schedules</h1>
      </div>
      <Failure message={list.failure} />
      {schedules === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {schedules?.length === 0 && (
        <Empty title="No schedules yet">
          <p>A schedule creates a run at the times of a cron expression.</p>
        </Empty>
      )}
      {schedules !== undefined && schedules.length > 0 && (
        <Table label="Schedules" columns={['Name', 'Times', 'Next', 'Last', '']}>
          {schedules.map((schedule) => (
            <Row key={schedule.id} schedule={schedule} reload={list.reload} />
          ))}
        </Table>
      )}
    </>
  );
}

function Row({ schedule, reload }: { readonly schedule: Schedule; readonly reload: () => Promise<void> }) {
  const {
    id: scheduleId,
    name,
    cron_schedule: cron,
    timezone = 'UTC',
    enabled,
    history,
    last_spawn_error: problem,
  } = schedule;
  const params = { path: { scheduleId } };
  const { last_ran: last, next_run: next, upcoming = [] } = history ?? {};
  return (
    <tr>
      <td>
        <strong>{name}</strong>
        {problem && <div class="failure">{problem}</div>}
      </td>
      <td>
        <code>{cron}</code> <span class="muted">{timezone}</span>
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
          <Link to={`runs?schedule=${scheduleId}`}>Runs</Link>
          {may('schedules:write') && (
            <>
              <Action
                run={async () => {
                  const { run_id: id } = await content(api.POST('/agent/schedules/{scheduleId}/run', { params }));
                  navigate(`runs/${id}`);
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
                  await reload();
                }}
              >
                {enabled ? 'Pause' : 'Resume'}
              </Action>
              <Action
                class="danger"
                confirm={`Delete the schedule ${name}?`}
                run={async () => {
                  await content(api.DELETE('/agent/schedules/{scheduleId}', { params }));
                  await reload();
                }}
              >
                Delete
              </Action>
            </>
          )}
        </div>
      </td>
    </tr>
  );
}
