import { describe, expect, it } from 'vitest';
import { parseCron } from '#platform/timers';
import { describeCron } from '../../apps/console/src/views/schedules/cron.js';

describe('the description of a cron expression', () => {
  it.each([
    ['* * * * *', 'Every minute'],
    ['*/15 * * * *', 'Every 15 minutes'],
    ['0 * * * *', 'Every hour'],
    ['5 * * * *', 'Every hour at 5 min past'],
    ['0 */6 * * *', 'Every 6 hours from 00:00'],
    ['0 3 * * *', 'At 03:00, every day'],
    ['30 9,17 * * *', 'At 09:30 and 17:30, every day'],
    ['0 9 * * 1-5', 'At 09:00, on Monday to Friday'],
    ['0 9 * * MON,thu', 'At 09:00, on Monday and Thursday'],
    ['0 9 * * 7', 'At 09:00, on Sunday'],
    ['0 9 * * FRI-SUN', 'At 09:00, on Sunday, Friday and Saturday'],
    ['0 0 1,15 * *', 'At 00:00, on the 1st and 15th of the month'],
    ['0 0 13 * FRI', 'At 00:00, on the 13th of the month, and on each Friday'],
    ['0 0 29 2 *', 'At 00:00, on the 29th of the month, in February'],
    ['0 8 * JAN-MAR *', 'At 08:00, every day, in January to March'],
    ['*/30 9-17 * * 1-5', 'Every 30 minutes from 09:00 to 17:30, on Monday to Friday'],
    ['0 8-18 * * *', 'Every hour from 08:00 to 18:00'],
  ])('of %s is "%s"', (expression, text) => {
    expect(parseCron(expression).kind).toBe('valid');
    expect(describeCron(expression)).toBe(text);
  });

  it.each(['*/7 * * * *', '0 0 */2 * *', '0 0 */2 * FRI', '5,6 3 * * *', '0 0 1 * 0-6'])(
    'does not exist for %s, which is clearer as it is',
    (expression) => {
      expect(parseCron(expression).kind).toBe('valid');
      expect(describeCron(expression)).toBeNull();
    },
  );

  it.each([
    '5/15 * * * *',
    '60 * * * *',
    '* * * *',
    '0 0 0 * *',
    '5-1 * * * *',
    '@daily',
    '0 0 L * *',
    '0 0 ? * *',
    '',
  ])('does not exist for %s, which is not valid', (expression) => {
    expect(parseCron(expression).kind).toBe('invalid');
    expect(describeCron(expression)).toBeNull();
  });

  it('does not read ranges of the weekday across the end of the week', () => {
    expect(parseCron('0 0 * * SAT-MON').kind).toBe('invalid');
    expect(describeCron('0 0 * * SAT-MON')).toBeNull();
  });
});
