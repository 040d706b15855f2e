const page = (text, link) => ({ text, link });
/** The anchor of a heading, as GitHub derives it: links between pages hold on both. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\-_ ]/gu, '')
    .replaceAll(' ', '-');

export default {
  title: 'zerotime',
  description: 'One exact rate limit for all threads',
  cleanUrls: false,
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      page('Start', '/overview'),
      page('Guide', '/guide'),
      page('API', '/api/'),
      page('Playground', '/try'),
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          page('Overview', '/overview'),
          page('Guide', '/guide'),
          page('Which limiter?', '/choosing'),
          page('Which numbers?', '/simulate'),
          page('Playground', '/try'),
          page('Errors and questions', '/errors'),
          page('Comparison', '/comparison'),
          page('Coming from another limiter', '/systems'),
        ],
      },
      {
        text: 'By use',
        items: [
          page('Limits for each key', '/keys'),
          page('Calls in flight', '/permits'),
          page('How many at once', '/how-many-at-once'),
          page('Worker pools', '/integrations#pools'),
          page('Functions and queues', '/queues'),
          page('APIs that you call', '/outgoing'),
          page('Servers', '/http'),
          page('Metrics', '/integrations#prometheus'),
          page('Trace sampling', '/tracing'),
          page('Which traces to keep', '/sampling'),
          page('Load tests and benchmarks', '/load'),
          page('Drive your own code', '/tasks'),
          page('Processes of one machine', '/host'),
          page('Runbook', '/runbook'),
          page('Redis', '/redis'),
          page('Fleets', '/fleets'),
          page('Tuning', '/tuning'),
          page('Five programs', '/programs'),
        ],
      },
      {
        text: 'How it works',
        items: [
          page('Algorithm and proof', '/algorithm'),
          page('Limit sets', '/algorithms-limit-sets'),
          page('Windows and logs', '/algorithms-windows'),
          page('Keys', '/algorithms-keyed'),
          page('Permits', '/algorithms-semaphore'),
          page('What was checked', '/proof'),
          page('Mutants', '/mutants'),
          page('Memory layout', '/memory-layout'),
          page('Architecture', '/architecture'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('API', '/api/'),
          page('Performance', '/performance'),
          page('Package', '/package'),
          page('Dependencies', '/dependencies'),
          page('Versions', '/versions'),
          page('Changes', '/CHANGELOG'),
          page('Contributing', '/CONTRIBUTING'),
          page('Security', '/SECURITY'),
        ],
      },
    ],
  },
};
