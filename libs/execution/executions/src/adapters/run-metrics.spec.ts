import { describe, expect, it } from 'vitest';
import { Metrics } from '#platform/observability';
import { RunMetrics } from './run-metrics.js';

describe('RunMetrics', () => {
  it('counts the usage of each harness, and that of further ones together', async () => {
    const metrics = new Metrics();
    const runs = new RunMetrics(metrics);
    runs.used('claude', { input_tokens: 5, output_tokens: 2, cost_usd: 0.25 });
    runs.used('claude', { input_tokens: 1 });
    for (let number = 0; number < 100; number += 1) runs.used(`own-${number}`, { output_tokens: 1 });
    const text = await metrics.render();
    expect(text).toContain('headrace_agent_tokens_total{harness="claude",direction="input"} 6\n');
    expect(text).toContain('headrace_agent_tokens_total{harness="claude",direction="output"} 2\n');
    expect(text).toContain('headrace_agent_cost_usd_total{harness="claude"} 0.25\n');
    expect(text).toContain('headrace_agent_tokens_total{harness="other",direction="output"} 51\n');
  });

  it('counts all self-hosted workers together', async () => {
    const metrics = new Metrics();
    const runs = new RunMetrics(metrics);
    for (const pool of ['hosted', 'worker:one', 'worker:two', 'external']) runs.placed(pool);
    runs.phaseEnded('setup', 'worker:one', 2);
    runs.phaseEnded('setup', 'worker:two', null);
    const text = await metrics.render();
    expect(text).toContain('headrace_run_placements_total{executor="self_hosted"} 2\n');
    expect(text).toContain('headrace_run_state_changes_total{state="PENDING"} 4\n');
    expect(text).toContain('headrace_run_phase_seconds_sum{phase="setup",executor="self_hosted"} 2\n');
    expect(text).toContain('headrace_run_phase_seconds_count{phase="setup",executor="self_hosted"} 1\n');
  });
});
