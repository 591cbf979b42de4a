import { css } from "lit";

/**
 * The colours and sizes of the inspector, as custom properties of its frame. A page overrides any of them
 * on the element: `wellwritten-inspector { --ww-trusted: #0a0 }`.
 */
export const tokens = css`
  .frame {
    /* what a page's stylesheet lets elements inherit stops here; custom properties do not */
    all: initial;
    display: block;
    --_font: var(--ww-font, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif);
    --_mono: var(--ww-font-mono, ui-monospace, "SF Mono", "Cascadia Code", "Roboto Mono", "DejaVu Sans Mono", monospace);
    color-scheme: dark;
    --ground: var(--ww-ground, #0d1012);
    --pane: var(--ww-pane, #12161a);
    --raised: var(--ww-raised, #1b2126);
    --raised-hover: #252d33;
    --line: var(--ww-line, #232a30);
    --line-strong: #39434b;
    --ink: var(--ww-ink, #e3e8eb);
    --ink-soft: #a3aeb5;
    --ink-faint: #83909a;
    --accent: var(--ww-accent, #8ab4ff);
    --on-ink: #0d1012;
    --trusted: var(--ww-trusted, #2fb3a3);
    --pending: var(--ww-pending, #e5a83b);
    --failed: var(--ww-failed, #ff6369);
    --skipped: var(--ww-skipped, #ad8fff);
    --never-written: var(--ww-never-written, #7d8991);
    --trusted-fill: #1d6f68;
    --pending-fill: #8a6217;
    --failed-fill: #c93a41;
    --skipped-fill: #5f45a8;
    --never-written-fill: #2a3137;
    --failed-wash: #2b1518;
    --pending-wash: #261e0f;
    --trusted-wash: #0e2422;
  }
  .frame.light {
    color-scheme: light;
    --ground: var(--ww-ground, #eef1f3);
    --pane: var(--ww-pane, #fbfcfd);
    --raised: var(--ww-raised, #ffffff);
    --raised-hover: #f0f3f5;
    --line: var(--ww-line, #dde3e7);
    --line-strong: #b9c3ca;
    --ink: var(--ww-ink, #161c20);
    --ink-soft: #4c575f;
    --ink-faint: #64717a;
    --accent: var(--ww-accent, #1f5fd0);
    --on-ink: #ffffff;
    --trusted: var(--ww-trusted, #0b7a6f);
    --pending: var(--ww-pending, #8f5b00);
    --failed: var(--ww-failed, #c3222c);
    --skipped: var(--ww-skipped, #6540c9);
    --never-written: var(--ww-never-written, #66727a);
    --trusted-fill: #58b8ac;
    --pending-fill: #f0c269;
    --failed-fill: #e4555c;
    --skipped-fill: #a58be8;
    --never-written-fill: #d3dadf;
    --failed-wash: #fdecec;
    --pending-wash: #fdf4e0;
    --trusted-wash: #e5f5f2;
  }
`;

/** What every panel is made of: its head, buttons, fields, chips, rows of text. */
export const parts = css`
  :host {
    display: flex;
    flex-direction: column;
    min-width: 0;
    min-height: 0;
    background: var(--pane);
    color: var(--ink);
    font: 12px/1.45 var(--_font);
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  [hidden] {
    display: none !important;
  }
  .head {
    display: flex;
    align-items: center;
    gap: 8px;
    flex: none;
    min-height: 30px;
    padding: 0 6px 0 12px;
  }
  h2 {
    margin: 0;
    font-size: 12px;
    font-weight: 600;
    white-space: nowrap;
  }
  .head .note {
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .head .actions {
    margin-left: auto;
    display: flex;
    align-items: center;
    gap: 4px;
  }
  .note {
    color: var(--ink-faint);
    font-size: 11.5px;
  }
  .scroll {
    flex: 1 1 0;
    position: relative;
    min-height: 0;
    overflow: auto;
    scrollbar-width: thin;
    scrollbar-color: var(--line-strong) transparent;
  }
  .pad {
    padding: 0 12px 10px;
  }
  .expander {
    margin-left: auto;
    color: var(--ink-faint);
  }
  .actions + .expander {
    margin-left: 0;
  }
  .head .actions + .expander {
    margin-left: -6px;
  }
  .num,
  code,
  pre {
    font-family: var(--_mono);
    font-size: 11.5px;
    font-variant-numeric: tabular-nums;
    font-feature-settings: "zero";
  }
  p {
    margin: 0;
  }
  .soft {
    color: var(--ink-soft);
  }
  .empty {
    padding: 2px 12px 12px;
    color: var(--ink-faint);
    text-wrap: pretty;
  }
  button,
  select,
  input {
    font: inherit;
    color: inherit;
  }
  button,
  .button {
    position: relative;
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 6px;
    height: 24px;
    padding: 0 9px;
    border: 1px solid var(--line-strong);
    border-radius: 4px;
    background: var(--raised);
    color: var(--ink);
    white-space: nowrap;
    cursor: pointer;
  }
  button:hover:not(:disabled),
  .button:hover {
    background: var(--raised-hover);
  }
  button:disabled,
  select:disabled,
  input:disabled {
    opacity: 0.45;
    cursor: default;
  }
  button.primary {
    background: var(--ink);
    border-color: var(--ink);
    color: var(--on-ink);
    font-weight: 600;
  }
  button.primary:hover:not(:disabled) {
    background: var(--ink-soft);
    border-color: var(--ink-soft);
  }
  button.quiet {
    border-color: transparent;
    background: transparent;
    color: var(--ink-soft);
    padding: 0 7px;
  }
  button.quiet:hover:not(:disabled) {
    background: var(--raised-hover);
    color: var(--ink);
  }
  button.icon {
    width: 24px;
    padding: 0;
  }
  button.danger {
    border-color: var(--failed);
    color: var(--failed);
  }
  select,
  input:not([type="file"]) {
    height: 24px;
    padding: 0 6px;
    border: 1px solid var(--line-strong);
    border-radius: 4px;
    background: var(--ground);
  }
  input.num {
    text-align: right;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 1px;
  }
  kbd {
    font: 10.5px/1 var(--_mono);
    color: var(--ink-faint);
    border: 1px solid var(--line-strong);
    border-radius: 3px;
    padding: 1px 4px;
  }
  .primary kbd {
    color: inherit;
    border-color: currentColor;
    opacity: 0.6;
  }
  .chip {
    display: inline-flex;
    align-items: center;
    gap: 5px;
    white-space: nowrap;
    color: var(--ink-soft);
  }
  .chip::before {
    content: "";
    width: 9px;
    height: 9px;
    border-radius: 2px;
    flex: none;
    background: var(--never-written-fill);
    border: 1px solid var(--never-written);
  }
  .chip.trusted {
    color: var(--trusted);
  }
  .chip.trusted::before {
    background: var(--trusted-fill);
    border-color: var(--trusted);
  }
  .chip.pending {
    color: var(--pending);
  }
  .chip.pending::before {
    background: repeating-linear-gradient(135deg, var(--pending) 0 2px, transparent 2px 4px);
    border-color: var(--pending);
  }
  .chip.failed {
    color: var(--failed);
  }
  .chip.failed::before {
    background: var(--failed-fill);
    border-color: var(--failed);
    clip-path: polygon(50% 0, 100% 50%, 50% 100%, 0 50%);
  }
  .chip.skipped {
    color: var(--skipped);
  }
  .chip.skipped::before {
    background: repeating-linear-gradient(90deg, var(--skipped) 0 2px, transparent 2px 4px);
    border-color: var(--skipped);
  }
  .chip.never-written::before {
    border-style: dotted;
    background: transparent;
  }
  .visually-hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  table {
    width: 100%;
    border-collapse: collapse;
  }
  th {
    text-align: left;
    font-weight: 400;
    color: var(--ink-faint);
    font-size: 11px;
  }
  th,
  td {
    padding: 3px 8px 3px 0;
    white-space: nowrap;
  }
  .right {
    text-align: right;
  }
  @container inspector (max-width: 1020px) {
    .scroll {
      flex: 1 1 auto;
    }
  }
  @media (prefers-reduced-motion: reduce) {
    *,
    *::before,
    *::after {
      animation: none !important;
      transition: none !important;
    }
  }
`;
