//! End-to-end tests, and tests of the whole repository. They are one program, so that common code
//! is compiled and linked once.

mod common;
mod imports;
#[path = "../../src/skeletons.rs"]
mod skeletons;

mod advice;
mod architecture;
mod attributes;
mod book;
mod checks;
mod cli;
mod cli_advice;
mod cli_code;
mod cli_config;
mod cli_doctor_project;
mod cli_files;
mod cli_foreign;
mod cli_graphs;
mod cli_inputs;
mod cli_jobs;
mod cli_mapping;
mod cli_mpi;
mod cli_plan;
mod cli_plugins;
mod cli_ranks;
mod cli_rules;
mod cli_run;
mod cli_run_ranks;
mod cli_signals;
mod cli_sizes;
mod cli_strategies;
mod cli_terminal;
mod consumers;
mod contributing;
mod cycles;
mod embedding;
mod emitters;
mod errors;
mod faults;
mod formats;
mod hosts;
mod journey;
mod library;
mod library_perverse;
mod networks;
mod networks_on_hosts;
mod networks_unchanged;
mod pilot_on_hosts;
mod platforms;
mod ranks_on_hosts;
mod ranks_placed;
mod runtime_sources;
mod tutorial;
mod view;
mod wiring;
