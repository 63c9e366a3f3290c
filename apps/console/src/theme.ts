import { effect, signal } from '@preact/signals';

const KEY = 'headrace-theme';
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const stored = localStorage.getItem(KEY);
export const theme = signal<Theme>(THEMES.find((known) => known === stored) ?? 'system');

effect(() => {
  const { documentElement: root } = document;
  if (theme.value === 'system') delete root.dataset['theme'];
  else root.dataset['theme'] = theme.value;
  localStorage.setItem(KEY, theme.value);
});
