/** One of the five places of an expression. */
export interface CronField {
  readonly name: string;
  readonly lowest: number;
  readonly highest: number;
  /** How many different values it has: weekday 7 is weekday 0 once more. */
  readonly size: number;
  /** Names of values, the first standing for `lowest`. */
  readonly names: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

export const MINUTE: CronField = { name: 'minute', lowest: 0, highest: 59, size: 60, names: [] };
export const HOUR: CronField = { name: 'hour', lowest: 0, highest: 23, size: 24, names: [] };
export const DAY: CronField = { name: 'day of the month', lowest: 1, highest: 31, size: 31, names: [] };
export const MONTH: CronField = { name: 'month', lowest: 1, highest: 12, size: 12, names: MONTHS };
export const WEEKDAY: CronField = { name: 'weekday', lowest: 0, highest: 7, size: 7, names: WEEKDAYS };
