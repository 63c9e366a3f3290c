import type { ComponentChildren } from 'preact';

interface TableProps {
  readonly label: string;
  readonly columns: readonly string[];
  readonly children: ComponentChildren;
}

/** A table that scrolls by itself when the window is narrow. */
export const Table = ({ label, columns, children }: TableProps) => (
  <div class="card scroll" tabIndex={0} role="region" aria-label={label}>
    <table class="list">
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col" key={column}>
              {column === '' ? <span class="hidden">Operations</span> : column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
