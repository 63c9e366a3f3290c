import { PROJECT_PAGES } from '../.vitepress/repository-links.mjs';

export default { paths: PROJECT_PAGES, watch: ['../../*.md'] };
