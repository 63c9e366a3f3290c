import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '#execution/executions';
import { type IdentityDefaults, resolveConfig } from './resolve-config.js';
import { overrideConfig, recordSubmitted, restoreSubmitted } from './submitted-input.js';

const text = fc.constantFrom('a', 'b', 'owner/repo:skills/x/SKILL.md');
const servers = fc.dictionary(fc.constantFrom('one', 'two', 'three'), fc.record({ command: text }), { maxKeys: 3 });
const config: fc.Arbitrary<AgentConfig> = fc
  .record(
    {
      name: text,
      model_id: text,
      base_prompt: text,
      environment_id: text,
      worker_host: text,
      skill_spec: text,
      harness: fc.record({ type: text, model_id: text }, { requiredKeys: [] }),
      mcp_servers: servers,
      max_cost_usd: fc.nat(),
    },
    { requiredKeys: [] },
  )
  .map((fields) => fields as AgentConfig);
const identity: fc.Arbitrary<IdentityDefaults> = fc.record({
  prompt: fc.option(text),
  environmentId: fc.option(text),
  workerHost: fc.option(text),
  baseModel: fc.option(text),
  harness: fc.constant(null),
  skills: fc.array(text, { maxLength: 2 }),
  mcpServers: servers,
});

describe('the submitted input of a run', () => {
  it('is restored from the resolved configuration, whatever the identity and skills add', () => {
    fc.assert(
      fc.property(config, fc.option(identity), fc.option(text), (submitted, defaults, skill) => {
        const resolved = resolveConfig(submitted, skill ?? undefined, { identity: defaults });
        const skilled = { ...resolved, base_prompt: `${resolved.base_prompt ?? ''} and a skill` };
        const { mcp_servers: named, ...others } = submitted;
        const expected = named && Object.keys(named).length > 0 ? submitted : others;
        expect(restoreSubmitted(skilled, recordSubmitted(submitted, skilled, {}))).toEqual(expected);
      }),
    );
  });

  it('is empty when nothing was added', () => {
    const plain: AgentConfig = { name: 'x', mcp_servers: { one: { command: 'serve', env: { KEY: 'secret' } } } };
    expect(recordSubmitted(plain, resolveConfig(plain, undefined), {})).toEqual({});
  });

  it('has the names of MCP servers and none of their values', () => {
    const submitted: AgentConfig = { mcp_servers: { mine: { command: 'serve', env: { KEY: 'secret' } } } };
    const resolved: AgentConfig = {
      mcp_servers: { ...submitted.mcp_servers, other: { url: 'https://mcp.example.com', headers: { KEY: 'secret' } } },
    };
    const input = recordSubmitted(submitted, resolved, { agent_identity_uid: 'agent' });
    expect(input).toEqual({ mcp_servers: ['mine'], agent_identity_uid: 'agent' });
    expect(restoreSubmitted(resolved, input)).toEqual(submitted);
  });
});

describe('overrideConfig', () => {
  it.each<[string, AgentConfig, AgentConfig, AgentConfig]>([
    [
      'replaces a field and keeps the others',
      { name: 'a', model_id: 'm' },
      { model_id: 'n' },
      { name: 'a', model_id: 'n' },
    ],
    ['replaces a list of skills with one skill', { skills: ['a', 'b'] }, { skill_spec: 'c' }, { skill_spec: 'c' }],
    ['replaces one skill with a list', { skill_spec: 'a' }, { skills: ['b'] }, { skills: ['b'] }],
    [
      'drops the allow list of another policy',
      { permission_policy: 'allow_list', permission_allow_list: ['read'] },
      { permission_policy: 'ask' },
      { permission_policy: 'ask' },
    ],
  ])('%s', (_name, own, override, merged) => {
    expect(overrideConfig(own, override)).toEqual(merged);
  });
});
