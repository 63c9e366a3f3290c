import { api, content, type Schemas } from '../api/client';
import { team } from '../session';
import { labelOf } from './environment-names';
import { Field } from './form';
import { textOf } from './operation';
import { useResource } from './resource';

type AgentConfig = Schemas['AmbientAgentConfig'];

interface ConfigFieldsProps {
  /** Where the configuration is in the request, `/config`. */
  readonly pointer: string;
  readonly config?: AgentConfig;
}

const POLICIES: Readonly<Record<NonNullable<AgentConfig['permission_policy']>, string>> = {
  allow: 'Allow each request',
  ask: 'Ask a person',
  allow_list: 'Allow what its list names',
  deny: 'Deny each request',
};

/** Agent, model, environment, host and permissions of a run. The fields are usable without the lists. */
export function ConfigFields({ pointer, config = {} }: ConfigFieldsProps) {
  const harnesses = useResource(() => content(api.GET('/agent/harnesses')), team.value ?? '');
  const environments = useResource(() => content(api.GET('/agent/environments')), team.value ?? '');
  const agent = config.harness?.type ?? '';
  const environment = config.environment_id ?? '';
  const policy = config.permission_policy;
  const ids = harnesses.data?.harnesses.map(({ id }) => id) ?? [];
  const known = environments.data?.environments ?? [];
  return (
    <div class="pair">
      <Field label="Agent" pointer={`${pointer}/harness`}>
        {(control) => (
          <select {...control} name="harness">
            <option value="">Default</option>
            {[...new Set([...ids, ...(agent === '' ? [] : [agent])])].map((id) => (
              <option value={id} key={id} selected={id === agent}>
                {id}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Model" pointer={`${pointer}/model_id`}>
        {(control) => (
          <input
            {...control}
            name="model"
            maxLength={256}
            placeholder="Default of the agent"
            defaultValue={config.model_id ?? ''}
          />
        )}
      </Field>
      <Field label="Environment" pointer={`${pointer}/environment_id`}>
        {(control) => (
          <select {...control} name="environment">
            <option value="">None</option>
            {environment !== '' && !known.some(({ uid }) => uid === environment) && (
              <option value={environment} key={environment} selected>
                {environment}
              </option>
            )}
            {known.map((one) => (
              <option value={one.uid} key={one.uid} selected={one.uid === environment}>
                {labelOf(one)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Worker host" pointer={`${pointer}/worker_host`}>
        {(control) => <input {...control} name="host" placeholder="Hosted" defaultValue={config.worker_host ?? ''} />}
      </Field>
      <Field label="Permission requests" pointer={`${pointer}/permission_policy`}>
        {(control) => (
          <select {...control} name="permissions">
            <option value="">Default</option>
            {Object.entries(POLICIES)
              // The list itself is set through the API or in definition files.
              .filter(([value]) => value !== 'allow_list' || policy === value)
              .map(([value, label]) => (
                <option value={value} key={value} selected={value === policy}>
                  {label}
                </option>
              ))}
          </select>
        )}
      </Field>
    </div>
  );
}

const FIELDS = ['model_id', 'environment_id', 'worker_host', 'permission_policy'] as const;

/** The configuration with what the fields say; the rest of it stays. Undefined: there is nothing in it. */
export function configOf(data: FormData, before: AgentConfig = {}): AgentConfig | undefined {
  const { harness, permission_allow_list: list, ...rest } = before;
  for (const name of FIELDS) delete rest[name];
  const value = (name: string): string => textOf(data, name).trim();
  const type = value('harness');
  const policy = value('permissions') as NonNullable<AgentConfig['permission_policy']> | '';
  const config = {
    ...rest,
    ...(value('environment') !== '' && { environment_id: value('environment') }),
    ...(type !== '' && { harness: harness?.type === type ? harness : { type } }),
    ...(value('model') !== '' && { model_id: value('model') }),
    ...(value('host') !== '' && { worker_host: value('host') }),
    ...(policy !== '' && { permission_policy: policy }),
    ...(policy === 'allow_list' && list && { permission_allow_list: list }),
  };
  return Object.keys(config).length === 0 ? undefined : config;
}
