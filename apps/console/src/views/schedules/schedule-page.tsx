import { api, content } from '../../api/client';
import { Failure, Link, Time, usePageTitle } from '../../components/basics';
import { Markdown } from '../../components/markdown';
import { RecentRuns } from '../../components/recent-runs';
import { useResource } from '../../components/resource';
import { absoluteTime } from '../../format';
import { navigate, query, setQuery } from '../../router';
import { may } from '../../session';
import { EditSchedule } from './schedule-form';
import { ScheduleActions, Times } from './schedules-page';

const REFRESH_MS = 10_000;

export function SchedulePage({ id }: { readonly id: string }) {
  const params = { path: { scheduleId: id } };
  const found = useResource(() => content(api.GET('/agent/schedules/{scheduleId}', { params })), id, REFRESH_MS);
  const schedule = found.data;
  usePageTitle(schedule?.name ?? 'Schedule');
  if (schedule === undefined)
    return (
      <>
        <h1>Schedule</h1>
        {found.failure === '' ? <p role="status">Loading …</p> : <Failure message={found.failure} />}
      </>
    );
  const { name, enabled, prompt, history, created_by: creator, updated_by: editor } = schedule;
  const { paused_reason: paused, last_spawn_error: problem, overlap_policy: overlap, environment } = schedule;
  const upcoming = history.upcoming ?? [];
  return (
    <>
      <div class="head">
        <h1>{name}</h1>
        {may('schedules:write') && (
          <div class="actions">
            <button type="button" onClick={() => setQuery({ edit: '1' })}>
              Edit
            </button>
            <ScheduleActions schedule={schedule} onChanged={found.reload} onDeleted={() => navigate('schedules')} />
          </div>
        )}
      </div>
      <Failure message={found.failure} />
      <div class="facts">
        <span>
          <Times schedule={schedule} />
        </span>
        <span>{enabled ? 'Enabled' : 'Paused'}</span>
        <span>{overlap === 'skip' ? 'No run while the previous one is not finished' : 'Runs may overlap'}</span>
        {creator?.display_name !== undefined && <span>Created by {creator.display_name}</span>}
        {editor?.display_name !== undefined && <span>Saved by {editor.display_name}</span>}
        {environment?.name !== undefined && schedule.agent_config?.environment_id !== undefined && (
          <Link to={`environments/${schedule.agent_config.environment_id}`}>Environment {environment.name}</Link>
        )}
      </div>
      {paused !== null && <p class="failure block">Paused automatically: {paused}</p>}
      {problem !== null && <p class="failure block">The last due time has started no run: {problem}</p>}
      {upcoming.length > 0 && (
        <>
          <h2 class="section">Next</h2>
          <ul>
            {upcoming.map((at) => (
              <li key={at}>
                {absoluteTime(at)} (<Time at={at} />)
              </li>
            ))}
          </ul>
        </>
      )}
      <h2 class="section">Prompt</h2>
      <div class="card message">
        <Markdown text={prompt} />
      </div>
      <h2 class="section">History</h2>
      <RecentRuns query={{ schedule_id: id }} to={`runs?schedule=${id}`} />
      {query.value.get('edit') !== null && (
        <EditSchedule id={id} onSaved={found.reload} onClose={() => setQuery({ edit: null })} />
      )}
    </>
  );
}
