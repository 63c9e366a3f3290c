import { hrefOf, query } from '../router';

interface TabsProps<Tab extends string> {
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** The path of the page, with the parameters that all tabs have; the first tab has it as it is. */
  readonly path: string;
  readonly current: Tab;
}

const title = (tab: string): string => tab.charAt(0).toUpperCase() + tab.slice(1).replaceAll('-', ' ');

export const Tabs = <Tab extends string>({ label, tabs, path, current }: TabsProps<Tab>) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map((tab, index) => (
      <a
        key={tab}
        href={hrefOf(index === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}tab=${tab}`)}
        {...(tab === current ? { 'aria-current': 'page' as const } : {})}
      >
        {title(tab)}
      </a>
    ))}
  </nav>
);

/** The tab that the URL names, or the first one. */
export const currentTab = <Tab extends string>(tabs: readonly [Tab, ...Tab[]]): Tab =>
  tabs.find((tab) => tab === query.value.get('tab')) ?? tabs[0];
