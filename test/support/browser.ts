export { NO_BROWSER, startBrowser } from '../../scripts/lib/browser.mjs';
