import { render } from 'preact';
import { App } from './app';
import './styles.css';

// Its address is relative to the page that was loaded, which navigation replaces in the address bar.
const pageIcon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
pageIcon?.setAttribute('href', pageIcon.href);

const root = document.getElementById('app');
if (root) render(<App />, root);
