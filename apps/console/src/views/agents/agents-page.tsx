import { api, content, type Schemas } from '../../api/client';
import { Action, Empty, Failure, Link, Time, usePageTitle } from '../../components/basics';
import { Markdown } from '../../components/markdown';
import { useResource } from '../../components/resource';
import { Table } from '../../components/table';
import { currentTab, Tabs } from '../../components/tabs';
import { query } from '../../router';
import { team } from '../../session';

const TABS = ['skills', 'identities', 'harnesses'] as const;

export function AgentsPage() {
  usePageTitle('Agents and skills');
  const tab = currentTab(TABS);
  return (
    <>
      <div class="head">
        <h1>Agents and skills</h1>
      </div>
      <Tabs label="Kinds of agents" tabs={TABS} path="agents" current={tab} />
      {tab === 'skills' && <Skills />}
      {tab === 'identities' && <Identities />}
      {tab === 'harnesses' && <Harnesses />}
    </>
  );
}

function Skills() {
  const read = (refresh: boolean) =>
    content(api.GET('/agent', { params: { query: { include_malformed_skills: true, refresh } } }));
  const list = useResource(() => read(false), team.value ?? '');
  const id = query.value.get('skill');
  const variants = list.data?.agents.flatMap(({ name, variants: all }) => all.map((variant) => ({ name, ...variant })));
  const shown = variants?.find((variant) => variant.id === id);
  return (
    <>
      <div class="tools">
        <p class="muted grow">
          A skill is a task that is described in a file of a repository or a worker. Runs follow its instructions.
        </p>
        <Action
          run={async () => {
            await read(true);
            await list.reload();
          }}
        >
          Fetch the repositories again
        </Action>
      </div>
      <Failure message={list.failure} />
      {variants === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {variants?.length === 0 && (
        <Empty title="No skills yet">
          <p>
            Skills are files such as <code>.agents/skills/review/SKILL.md</code> in the repositories of your
            environments. Create an environment with a repository that has one.
          </p>
          <Link to="environments?new=1">Create an environment</Link>
        </Empty>
      )}
      {shown !== undefined && <Skill skill={shown} />}
      {shown === undefined && variants !== undefined && variants.length > 0 && (
        <Table label="Skills" columns={['Name', 'Description', 'Where', 'Last run']}>
          {variants.map((skill) => (
            <tr key={`${skill.id} ${skill.source.worker_host ?? ''}`}>
              <td>
                <strong>
                  <Link to={`agents?skill=${encodeURIComponent(skill.id)}`}>{skill.name}</Link>
                </strong>
                {skill.error !== undefined && <div class="failure">{skill.error}</div>}
              </td>
              <td>{skill.description}</td>
              <td>{whereOf(skill.source)}</td>
              <td>
                {skill.last_run_timestamp ? <Time at={skill.last_run_timestamp} /> : <span class="muted">Never</span>}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

const whereOf = ({ owner, name, worker_host: host }: Schemas['SkillSourceItem']): string =>
  host === undefined
    ? owner === 'headrace' && name === 'bundled'
      ? 'ships with Headrace'
      : `${owner}/${name}`
    : `worker ${host}`;

function Skill({ skill }: { readonly skill: Schemas['AgentVariant'] & { readonly name: string } }) {
  return (
    <article aria-label={skill.name}>
      <p>
        <Link to="agents">All skills</Link>
      </p>
      <h2 class="section">{skill.name}</h2>
      {skill.error !== undefined && <p class="failure block">{skill.error}</p>}
      <p>{skill.description}</p>
      <div class="facts">
        <code>{skill.id}</code>
        <span>{whereOf(skill.source)}</span>
        {skill.environments.map(({ uid, name }) => (
          <Link key={uid} to={`environments/${uid}`}>
            Environment {name}
          </Link>
        ))}
        <Link to={`runs?skill=${encodeURIComponent(skill.id)}`}>Runs</Link>
      </div>
      {skill.base_prompt !== '' && (
        <div class="card message">
          <Markdown text={skill.base_prompt} />
        </div>
      )}
    </article>
  );
}

function Identities() {
  const list = useResource(() => content(api.GET('/agent/identities')), team.value ?? '');
  const uid = query.value.get('identity');
  const identities = list.data?.agents;
  return (
    <>
      <Failure message={list.failure} />
      {identities === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {identities?.length === 0 && (
        <Empty title="No agent identities yet">
          <p>
            An agent identity is a named agent of the team with a prompt, secrets and a model, as which runs are
            executed. Definition files and the operation <code>POST /agent/identities</code> create it.
          </p>
        </Empty>
      )}
      {uid !== null && <Identity key={uid} uid={uid} />}
      {uid === null && identities !== undefined && identities.length > 0 && (
        <Table label="Agent identities" columns={['Name', 'Description', 'Agent', 'Model', '']}>
          {identities.map((identity) => (
            <tr key={identity.uid}>
              <td>
                <strong>
                  <Link to={`agents?tab=identities&identity=${identity.uid}`}>{identity.name}</Link>
                </strong>
                {!identity.available && <div class="muted">not available</div>}
              </td>
              <td>{identity.description}</td>
              <td>{identity.harness?.type ?? 'default'}</td>
              <td>{identity.base_model ?? 'default'}</td>
              <td>
                <Link to={`runs?executor=${identity.uid}`}>Runs</Link>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

/** Lists have only the start of a prompt. */
function Identity({ uid }: { readonly uid: string }) {
  const { data, failure } = useResource(
    () => content(api.GET('/agent/identities/{uid}', { params: { path: { uid } } })),
    uid,
  );
  return (
    <article>
      <p>
        <Link to="agents?tab=identities">All agent identities</Link>
      </p>
      <Failure message={failure} />
      {data !== undefined && (
        <>
          <h2 class="section">{data.name}</h2>
          <p>{data.description}</p>
          <div class="facts">
            <span>Agent {data.harness?.type ?? 'default'}</span>
            <span>Model {data.base_model ?? 'default'}</span>
            {(data.skills ?? []).map((skill) => (
              <code key={skill}>{skill}</code>
            ))}
          </div>
          {data.prompt && (
            <div class="card message">
              <Markdown text={data.prompt} />
            </div>
          )}
        </>
      )}
    </article>
  );
}

function Harnesses() {
  const list = useResource(() => content(api.GET('/agent/harnesses')), team.value ?? '');
  return (
    <>
      <Failure message={list.failure} />
      {list.data === undefined && list.failure === '' && <p role="status">Loading …</p>}
      {list.data && <HarnessTable harnesses={list.data.harnesses} />}
    </>
  );
}

/** Where each coding agent is installed. */
export const HarnessTable = ({ harnesses }: { readonly harnesses: readonly Schemas['HarnessItem'][] }) => (
  <Table label="Agents" columns={['Agent', 'Installed on', 'How to install it']}>
    {harnesses.map(({ id, builtin, installations, install_hint: hint }) => (
      <tr key={id}>
        <td>
          <strong>{id}</strong>
        </td>
        <td>
          {builtin
            ? 'all workers'
            : installations
                .filter(({ installed }) => installed)
                .map(({ location, version }) => [location, version].filter(Boolean).join(' '))
                .join(', ') || <span class="muted">no worker</span>}
        </td>
        <td>{hint === undefined ? '' : <code>{hint}</code>}</td>
      </tr>
    ))}
  </Table>
);
