import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EXECUTION_PHASE_MACHINE, EXECUTION_PHASES, phaseAfter, phaseGuard } from './execution-phase.js';

describe('execution phase machine', () => {
  it('defines every event in every phase', () => {
    for (const event of EXECUTION_PHASE_MACHINE.events())
      expect(Object.keys(EXECUTION_PHASE_MACHINE.definition.table[event]).sort()).toEqual([...EXECUTION_PHASES].sort());
  });

  it('refuses every event of an execution that has ended', () => {
    for (const event of EXECUTION_PHASE_MACHINE.events())
      expect(EXECUTION_PHASE_MACHINE.apply('ended', event)).toEqual({ refuse: 'ended' });
  });

  it('renders guard and target of an event as SQL', () => {
    expect(phaseGuard('claim')).toBe("phase IN ('offered', 'claimed')");
    expect(phaseAfter('claim')).toBe("'claimed'");
  });

  it('is where the statements of the stores take every new phase from', () => {
    const stores = new URL('../persistence/', import.meta.url);
    for (const file of readdirSync(stores)) {
      const assigned = readFileSync(new URL(file, stores), 'utf8').match(
        /(SET|,)\s+phase = (?!\$\{phaseAfter|CASE).*/g,
      );
      expect({ file, assigned }).toEqual({ file, assigned: null });
    }
  });
});
