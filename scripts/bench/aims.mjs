// Aims of the benches, printed beside what was measured when all of them have ended.
const aims = [];

/** `atLeast` or `atMost`: the aim, in the unit of `measured`. */
export function aim(name, measured, { atLeast, atMost, digits = 2, unit = '' }) {
  const holds = atLeast === undefined ? measured <= atMost : measured >= atLeast;
  const sign = atLeast === undefined ? '≤' : '≥';
  aims.push([
    name,
    `${sign} ${atLeast ?? atMost}${unit}`,
    `${measured.toFixed(digits)}${unit}`,
    holds ? 'holds' : 'MISSED',
  ]);
}

export function printAims() {
  if (aims.length === 0) return;
  const rows = [['AIM', 'BOUND', 'MEASURED', ''], ...aims];
  const widths = rows[0].map((_cell, column) => Math.max(...rows.map((row) => row[column].length)));
  console.log('');
  for (const row of rows)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    );
}
